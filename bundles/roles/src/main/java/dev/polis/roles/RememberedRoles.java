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
 * Keeps the roles of this node in a file on the data volume, so that they start again while the
 * cluster cannot be reached.
 */
record RememberedRoles(FilePlacement file, HealthScope health) {

  private static final String NOT_REMEMBERED = "roles-not-remembered";
  private static final String MADE_ANEW = "roles-file-made-anew";

  /** Reads the roles of before; empty if there are none, or if the file cannot be read. */
  Optional<LocalRoles> read(Log log) {
    switch (file.read().map(RememberedRoles::parse)) {
      case Stored.Present<NodeRoles>(var path, var stored) -> {
        return Optional.of(new LocalRoles(RoleRecord.names(stored), false));
      }
      case Stored.None<NodeRoles> none -> log.info("no roles are remembered from before");
      case Stored.Corrupted<NodeRoles>(var path, var reason) -> leaveOut(path, reason, log);
      case Stored.Unreadable<NodeRoles>(var path, var reason, var cause) ->
          leaveOut(path, reason, log);
    }
    return Optional.empty();
  }

  private void leaveOut(Path path, String reason, Log log) {
    log.warning("the remembered roles %s are left out: %s", path, reason);
    // The cluster may not be reached for long, and no role runs until then.
    health.set(
        HealthCondition.degraded(
            NOT_REMEMBERED,
            "the roles that %s remembers are left out, as it cannot be read (%s): they start when the cluster is reached"
                .formatted(path, reason),
            "nothing, if the cluster is reached: the file is written anew then; dmesg says whether the disk fails"));
    health.set(
        HealthCondition.up(
            MADE_ANEW,
            "%s could not be read at the start (%s); it is written anew from the record of the cluster"
                .formatted(path, reason)));
  }

  private static NodeRoles parse(byte[] bytes) {
    try {
      return NodeRoles.parseFrom(bytes);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("its content is no list of roles", e);
    }
  }

  /** Writes the file; a failure is only published, since the roles are known for this start. */
  void write(LocalRoles roles, Log log) {
    try {
      file.write(RoleRecord.of(roles.roles()).toByteArray());
      health.clear(NOT_REMEMBERED);
    } catch (FileException e) {
      log.warning("the roles cannot be remembered for the next start: %s", e.getMessage());
      health.set(
          HealthCondition.degraded(
              NOT_REMEMBERED,
              "the roles cannot be remembered, so that a next start without the cluster has those of before: "
                  + e.getMessage(),
              e.remedy() + "; they are written again at the next start, or when they change"));
    }
  }
}
