package dev.polis.ctl.owner;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.pki.CaBundle;
import java.nio.file.Path;
import java.security.cert.X509Certificate;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Groups the commands for the key of the cluster's owner. */
@Command(name = "owner", description = "Replaces the owner's key.")
@Subcommands({OwnerCommand.Rotate.class, OwnerCommand.Recover.class})
public final class OwnerCommand {

  /** Puts another key in the place of the owner's, which the cluster then refuses. */
  abstract static class Replacement extends SessionCommand {

    @Option(
        names = "--erase-former",
        description = "overwrites and removes the former key, which is set aside otherwise")
    boolean erase;

    /** Finishes in the operator's folder, and says where the keys are. */
    final ExitCode finish(Session session, OwnerKeyRotation rotation, X509Certificate certificate) {
      Optional<Path> former = rotation.finish(certificate, erase);
      String end = certificate.getNotAfter().toInstant().toString();
      JsonObject result = new JsonObject();
      result.addProperty("cluster", session.target().name());
      result.addProperty("ownerKey", session.target().ownerKey().toString());
      result.addProperty("formerOwnerKey", former.map(Path::toString).orElse(""));
      result.addProperty("certificate", session.target().ownerCertificate().toString());
      result.addProperty("validUntil", end);
      return print(
          "The cluster has another owner's key, in %s, with a certificate until %s. Keep a copy of it.\n%s"
              .formatted(
                  session.target().ownerKey(),
                  end,
                  former
                      .map("The former key opens nothing any more; it is in %s."::formatted)
                      .orElse(
                          erase
                              ? "The former key opens nothing any more; it is erased."
                              : "The former key opens nothing any more.")),
          result);
    }
  }

  /** Replaces the owner's key. */
  @Command(
      name = "rotate",
      description = {
        "Makes another owner's key on this machine, and replaces the present one in the cluster:",
        "each node refuses the former key and all its certificates at once, also on open",
        "connections. After an interruption, repeat it: it continues with the same new key."
      })
  static final class Rotate extends Replacement {

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      OwnerKeyRotation rotation = new OwnerKeyRotation(session, this::remark);
      return finish(session, rotation, rotation.run(options().command("takeownership")));
    }
  }

  /** Replaces a lost or stolen owner's key. */
  @Command(
      name = "recover",
      description = {
        "Replaces a lost or stolen owner's key with the cluster's recovery key: makes another",
        "owner's key on this machine, and proves the recovery key to the cluster, which gets no",
        "private key. Each node refuses the former key, and each key with which a thief has replaced",
        "it, at once. After an interruption, repeat it: it continues with the same new key."
      })
  static final class Recover extends Replacement {

    @Option(
        names = "--recovery-key",
        paramLabel = "FILE",
        required = true,
        description = "the cluster's recovery key; - reads it from standard input")
    Path recoveryKey;

    @Mixin FirstContact contact = new FirstContact();

    @Override
    protected void check() {
      contact.wanted();
    }

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      String pem = RecoveryKeyFile.read(recoveryKey);
      RecoveryKeyFile.publicKey(recoveryKey, pem);
      CaBundle ca = FirstContact.present(session, contact.clusterCa(session), this::remark);
      OwnerKeyRotation rotation = new OwnerKeyRotation(session, this::remark);
      X509Certificate certificate =
          new OwnerKeyRecovery(session, rotation, this::remark).run(ca, recoveryKey, pem);
      CtlFiles.write(session.target().clusterCa(), ca.pemBytes());
      return finish(session, rotation, certificate);
    }
  }
}
