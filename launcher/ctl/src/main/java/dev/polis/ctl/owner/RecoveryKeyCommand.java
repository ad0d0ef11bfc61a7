package dev.polis.ctl.owner;

import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.CtlTarget;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.ctl.session.WireName;
import dev.polis.files.layout.Root;
import dev.polis.pki.RecoveryKey;
import dev.polis.wire.recovery.EnrollRequest;
import dev.polis.wire.recovery.GetShareRequest;
import dev.polis.wire.recovery.GetShareResponse;
import dev.polis.wire.storage.RecoveryShare;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HexFormat;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Looks after the key that opens an encrypted volume when no other node can help. */
@Command(
    name = "recovery-key",
    description = "Moves, checks and replaces the key that opens an encrypted data volume.")
@Subcommands({
  RecoveryKeyCommand.Move.class,
  RecoveryKeyCommand.Check.class,
  RecoveryKeyCommand.Enroll.class
})
public final class RecoveryKeyCommand {

  /** Takes the key away from the volume that it opens. */
  @Command(
      name = "move",
      description = {
        "Moves the recovery key from the state directory to a file elsewhere: copies it, reads the",
        "copy back, then erases the original. It may be repeated after an interruption."
      })
  static final class Move extends CtlCommand {
    @Parameters(paramLabel = "FILE", description = "where to put it: a new file, or a folder")
    Path to;

    @Override
    protected ExitCode run() {
      CtlTarget target = options().target();
      Path state =
          target
              .state()
              .orElseThrow(
                  () ->
                      new CtlException(
                          ExitCode.USAGE,
                          "%s is not the state directory of a node on this machine; give --state DIR"
                              .formatted(target.name())));
      Path from = target.recoveryKey();
      Path file = destination(from, state);
      if (Files.notExists(from) && Files.exists(file)) {
        RecoveryKeyFile.publicKey(file, CtlFiles.read(file, "name the file that holds the key"));
      } else {
        RecoveryKeyFile.copy(from, file);
        CtlFiles.erase(from, "the copy is complete, remove it");
      }
      return report(state, file);
    }

    private Path destination(Path from, Path state) {
      Path file =
          (Files.isDirectory(to) ? to.resolve(from.getFileName()) : to)
              .toAbsolutePath()
              .normalize();
      if (file.startsWith(state)) {
        throw new CtlException(
            ExitCode.USAGE,
            "%s is also in the state directory, beside the volume; name a file on another disk"
                .formatted(file));
      }
      return file;
    }

    private ExitCode report(Path state, Path file) {
      if (sameDisk(state, file)) {
        remark(
            "warning: %s is on the same file system as %s; a thief of the disk has both"
                .formatted(file, state));
      }
      JsonObject result = new JsonObject();
      result.addProperty("recoveryKey", file.toString());
      return print(
          "The recovery key is in %s and no longer beside the volume. The next start needs it: ./polis up --state %s --recovery-key %s"
              .formatted(file, CtlName.quoted(state), CtlName.quoted(file)),
          result);
    }

    private static boolean sameDisk(Path state, Path file) {
      try {
        return Files.getFileStore(state).equals(Files.getFileStore(file));
      } catch (IOException e) {
        throw new CtlException(
            "polisctl cannot examine the file system of %s: %s".formatted(file, e), e);
      }
    }
  }

  /** Tries a key without opening the volume. */
  @Command(
      name = "check",
      description = {
        "Checks whether a key opens the recovery share of the node, without opening the volume.",
        "Exit code 5 if it does not. With a state directory the node need not run."
      })
  static final class Check extends CtlCommand {
    @Parameters(paramLabel = "FILE", description = "the key; - reads it from standard input")
    Path file;

    @Override
    protected ExitCode run() throws InterruptedException {
      String pem = RecoveryKeyFile.read(file);
      String publicKey = HexFormat.of().formatHex(RecoveryKeyFile.publicKey(file, pem));
      RecoveryKeyFile.requireOpens(file, pem, share());
      JsonObject result = new JsonObject();
      result.addProperty("opens", true);
      result.addProperty("publicKey", publicKey);
      return print("%s opens the data volume (public key %s)".formatted(file, publicKey), result);
    }

    private RecoveryShare share() throws InterruptedException {
      CtlTarget target = options().target();
      if (target.state().isPresent()) {
        return onDisk(target.state().get());
      }
      try (Session session = Session.open(options())) {
        GetShareResponse answer =
            session.call(() -> session.recovery().getShare(GetShareRequest.getDefaultInstance()));
        if (!answer.hasShare()) {
          throw none(
              "node %s, whose volume is %s,"
                  .formatted(answer.getNodeId(), WireName.shortened(answer.getStorageSecurity())));
        }
        return answer.getShare();
      }
    }

    private static RecoveryShare onDisk(Path state) {
      Path file = Root.at(state).esp().recoveryShare().path();
      try {
        return RecoveryShare.parseFrom(Files.readAllBytes(file));
      } catch (NoSuchFileException e) {
        throw none("the node in " + state);
      } catch (InvalidProtocolBufferException e) {
        throw new CtlException(
            "%s is damaged: %s; make another one with '%s recovery-key enroll' while the node runs"
                .formatted(file, e.getMessage(), CtlName.called()),
            e);
      } catch (IOException e) {
        throw new CtlException(file + " cannot be read: " + e, e);
      }
    }

    private static CtlException none(String node) {
      return new CtlException(
          ExitCode.NOT_FOUND,
          "%s has no recovery share; make one with '%s recovery-key enroll'"
              .formatted(node, CtlName.called()));
    }
  }

  /** Makes a key and lets the cluster seal the share to it. */
  @Command(
      name = "enroll",
      description = {
        "Makes a recovery key and lets the running node seal its share to it, in place of a former",
        "one. A key that is in the file already is enrolled itself, so the command may be repeated."
      })
  static final class Enroll extends SessionCommand {
    @Option(
        names = "--to",
        paramLabel = "FILE",
        description =
            "where the key is, or is put; best on another disk (default: recovery-key.pem among the"
                + " owner's files)")
    Path to;

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      Path file = (to == null ? session.target().recoveryKey() : to).toAbsolutePath().normalize();
      boolean made = Files.notExists(file);
      String pem =
          made ? RecoveryKey.generate() : CtlFiles.read(file, "remove it to have one made");
      byte[] publicKey = RecoveryKeyFile.publicKey(file, pem);
      if (made) {
        // Before the share: a share whose key was lost with this process would lock the owner out.
        CtlFiles.write(file, pem.getBytes(StandardCharsets.US_ASCII));
      }
      RecoveryShare share = enrolled(session, publicKey, file, made);
      RecoveryKeyFile.requireOpens(file, pem, share);
      return report(session.target(), file, HexFormat.of().formatHex(publicKey));
    }

    private static RecoveryShare enrolled(
        Session session, byte[] publicKey, Path file, boolean made) throws InterruptedException {
      EnrollRequest request =
          EnrollRequest.newBuilder().setRecoveryPublicKey(ByteString.copyFrom(publicKey)).build();
      try {
        return session.call(() -> session.recovery().enroll(request)).getShare();
      } catch (CtlException e) {
        if (e.exitCode() == ExitCode.UNREACHABLE) {
          // The share may have been replaced all the same.
          throw new CtlException(
              ExitCode.UNREACHABLE,
              "%s; polisctl keeps the key in %s; repeat the command"
                  .formatted(e.getMessage(), file),
              e);
        }
        if (made) {
          CtlFiles.erase(file, "remove it, it opens nothing");
        }
        throw e;
      }
    }

    private ExitCode report(CtlTarget target, Path file, String publicKey) {
      JsonObject result = new JsonObject();
      result.addProperty("recoveryKey", file.toString());
      result.addProperty("publicKey", publicKey);
      boolean beside = target.state().filter(file::startsWith).isPresent();
      String next =
          beside
              ? "It is beside the volume that it opens; move it: %s"
                  .formatted(options().command("recovery-key move FILE"))
              : "Keep a copy. A former key opens nothing any more.";
      return print(
          "The recovery key in %s opens the data volume from now on. %s".formatted(file, next),
          result);
    }
  }
}
