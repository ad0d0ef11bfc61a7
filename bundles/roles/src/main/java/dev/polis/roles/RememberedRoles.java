package dev.polis.roles;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleRecord;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.health.HealthCondition;
import dev.polis.health.HealthScope;
import dev.polis.logtree.Log;
import dev.polis.wire.common.NodeRoles;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Keeps the roles of this node in a file on the data volume, so that they start again without the
 * cluster.
 */
record RememberedRoles(FilePlacement file, HealthScope health) {

  private static final String NOT_REMEMBERED = "roles-not-remembered";
  private static final String MADE_ANEW = "roles-file-made-anew";

  /** Reads the roles of the last run; empty if the file is missing or unreadable. */
  Optional<LocalRoles> read(Log log) {
    switch (file.read().map(RememberedRoles::parse)) {
      case Stored.Present<NodeRoles>(var path, var stored) -> {
        return Optional.of(new LocalRoles(RoleRecord.names(stored), false));
      }
      case Stored.None<NodeRoles> none -> log.info("the node remembers no roles");
      case Stored.Corrupted<NodeRoles>(var path, var reason) -> leaveOut(path, reason, log);
      case Stored.Unreadable<NodeRoles>(var path, var reason, var cause) ->
          leaveOut(path, reason, log);
    }
    return Optional.empty();
  }

  private void leaveOut(Path path, String reason, Log log) {
    log.warning("the node ignores the remembered roles %s: %s", path, reason);
    // The cluster may be unreachable for long, and until then no role runs.
    health.set(
        HealthCondition.degraded(
            NOT_REMEMBERED,
            "the node cannot read the remembered roles in %s (%s): its roles start when it reaches the cluster"
                .formatted(path, reason),
            "nothing, if the node reaches the cluster: it then writes the file again; dmesg says whether the disk fails"));
    health.set(
        HealthCondition.up(
            MADE_ANEW,
            "the start could not read %s (%s); the node has written it again from the record of the cluster"
                .formatted(path, reason)));
  }

  private static NodeRoles parse(byte[] bytes) {
    try {
      return NodeRoles.parseFrom(bytes);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("the content is not a list of roles", e);
    }
  }

  /** Writes the file; only publishes a failure, since the roles are known for this start. */
  void write(LocalRoles roles, Log log) {
    try {
      file.write(RoleRecord.of(roles.roles()).toByteArray());
      health.clear(NOT_REMEMBERED);
    } catch (FileException e) {
      log.warning("the node cannot write its roles for the next start: %s", e.getMessage());
      health.set(
          HealthCondition.degraded(
              NOT_REMEMBERED,
              "the node cannot write its roles, so a next start without the cluster runs the former ones: "
                  + e.getMessage(),
              e.remedy() + "; the node writes them again at its next start, or when they change"));
    }
  }
}
