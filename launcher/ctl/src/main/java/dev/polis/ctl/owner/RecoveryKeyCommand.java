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
import dev.polis.pki.RecoveryProof;
import dev.polis.pki.UserCredentials;
import dev.polis.wire.cluster.GetRecoveryChallengeRequest;
import dev.polis.wire.cluster.GetRecoveryChallengeResponse;
import dev.polis.wire.cluster.SetRecoveryKeyRequest;
import dev.polis.wire.recovery.EnrollRequest;
import dev.polis.wire.recovery.GetShareRequest;
import dev.polis.wire.recovery.GetShareResponse;
import dev.polis.wire.storage.RecoveryShare;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Looks after the key that opens an encrypted volume, and that replaces the owner's key. */
@Command(
    name = "recovery-key",
    description = {
      "Moves, checks and replaces the key that opens an encrypted data volume, and names the one",
      "that replaces a lost or stolen owner's key (owner recover)."
    })
@Subcommands({
  RecoveryKeyCommand.Move.class,
  RecoveryKeyCommand.Check.class,
  RecoveryKeyCommand.Enroll.class,
  RecoveryKeyCommand.Name.class
})
public final class RecoveryKeyCommand {

  /** Makes a call about a key, which is erased if it was made for the call and is refused. */
  private static <T> T withKey(Path file, boolean made, Session session, Session.Call<T> call)
      throws InterruptedException {
    try {
      return session.call(call);
    } catch (CtlException e) {
      if (e.exitCode() == ExitCode.UNREACHABLE) {
        // The node may have done it all the same.
        throw new CtlException(
            ExitCode.UNREACHABLE,
            "%s; polisctl keeps the key in %s; repeat the command".formatted(e.getMessage(), file),
            e);
      }
      if (made) {
        CtlFiles.erase(file, "remove it, it opens nothing");
      }
      throw e;
    }
  }

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
      return withKey(file, made, session, () -> session.recovery().enroll(request)).getShare();
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
              : "Keep a copy. A former key opens this volume no more. The key that replaces the owner's stays as it is (recovery-key name).";
      return print(
          "The recovery key in %s opens the data volume from now on. %s".formatted(file, next),
          result);
    }
  }

  /** Names the key with which the cluster lets its owner's key be replaced. */
  @Command(
      name = "name",
      description = {
        "Names the recovery key with which 'owner recover' replaces the owner's key. The first node",
        "names the one of its parameters, so this is for a cluster without one, and to replace one",
        "that others may know: the former one must prove that. A key is made if the file does not",
        "exist. The keys of data volumes stay as they are."
      })
  static final class Name extends SessionCommand {
    @Parameters(
        paramLabel = "FILE",
        description = "where the key is, or is put; best on another disk than the owner's key")
    Path file;

    @Option(
        names = "--former",
        paramLabel = "FILE",
        description = "the cluster's present recovery key, if it has one")
    Path former;

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      UserCredentials owner = session.credentials();
      boolean made = Files.notExists(file);
      String pem =
          made ? RecoveryKey.generate() : CtlFiles.read(file, "remove it to have one made");
      byte[] publicKey = RecoveryKeyFile.publicKey(file, pem);
      SetRecoveryKeyRequest.Builder request =
          SetRecoveryKeyRequest.newBuilder().setRecoveryPublicKey(ByteString.copyFrom(publicKey));
      if (former != null) {
        prove(session, owner, publicKey, request);
      }
      if (made) {
        // Before the call: a key that was lost with this process would be the cluster's for good.
        CtlFiles.write(file, pem.getBytes(StandardCharsets.US_ASCII));
      }
      SetRecoveryKeyRequest named = request.build();
      withKey(file, made, session, () -> session.ownerKeys().setRecoveryKey(named));
      JsonObject result = new JsonObject();
      result.addProperty("recoveryKey", file.toString());
      result.addProperty("publicKey", HexFormat.of().formatHex(publicKey));
      return print(
          "The recovery key in %s replaces a lost or stolen owner's key from now on ('owner recover'). Keep a copy, apart from the owner's key."
              .formatted(file),
          result);
    }

    private void prove(
        Session session,
        UserCredentials owner,
        byte[] publicKey,
        SetRecoveryKeyRequest.Builder request)
        throws InterruptedException {
      String pem = RecoveryKeyFile.read(former);
      RecoveryKeyFile.publicKey(former, pem);
      GetRecoveryChallengeRequest question =
          GetRecoveryChallengeRequest.newBuilder()
              .setNewKey(ByteString.copyFrom(publicKey))
              .build();
      GetRecoveryChallengeResponse given =
          session.call(() -> session.ownerKeys().getRecoveryChallenge(question));
      byte[] answer = RecoveryKeyFile.answer(former, pem, given);
      byte[] proof =
          RecoveryProof.ofRecoveryKey(
                  owner.ca().issuing().getPublicKey(),
                  publicKey,
                  given.getChallenge().toByteArray())
              .by(answer);
      Arrays.fill(answer, (byte) 0);
      request.setChallenge(given.getChallenge()).setProof(ByteString.copyFrom(proof));
    }
  }
}
