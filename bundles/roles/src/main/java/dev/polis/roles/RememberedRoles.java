package dev.polis.roles;

import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.api.roles.LocalRoles;
import dev.polis.api.roles.RoleRecord;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.logtree.Log;
import dev.polis.wire.common.NodeRoles;
import java.util.Optional;

/**
 * Keeps the roles of this node in a file on the data volume, so that they start again while the
 * cluster cannot be reached.
 */
record RememberedRoles(FilePlacement file) {

  /** Reads the roles of before; empty if there are none, or if the file cannot be read. */
  Optional<LocalRoles> read(Log log) {
    switch (file.read().map(RememberedRoles::parse)) {
      case Stored.Present<NodeRoles>(var path, var stored) -> {
        return Optional.of(new LocalRoles(RoleRecord.names(stored), false));
      }
      case Stored.None<NodeRoles> none -> log.info("no roles are remembered from before");
      case Stored.Corrupted<NodeRoles>(var path, var reason) ->
          log.warning("the remembered roles %s are left out: %s", path, reason);
      case Stored.Unreadable<NodeRoles>(var path, var reason, var cause) ->
          log.warning("the remembered roles %s are left out: %s", path, reason);
    }
    return Optional.empty();
  }

  private static NodeRoles parse(byte[] bytes) {
    try {
      return NodeRoles.parseFrom(bytes);
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    }
  }

  /** Writes the file; a failure is only logged, since the roles are known for this start. */
  void write(LocalRoles roles, Log log) {
    try {
      file.write(RoleRecord.of(roles.roles()).toByteArray());
    } catch (FileException e) {
      log.warning("the roles cannot be remembered for the next start: %s", e.getMessage());
    }
  }
}
