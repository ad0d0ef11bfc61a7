package dev.polis.ctl.owner;

import com.google.gson.JsonObject;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.CtlTarget;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.OwnerKeyFile;
import dev.polis.ctl.session.Session;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Ed25519;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Turns the owner's key into a certificate of the cluster. */
@Command(
    name = "takeownership",
    description = "Gets the owner's certificate from a new cluster. May be repeated.")
public final class TakeOwnershipCommand extends CtlCommand {

  @Mixin FirstContact contact = new FirstContact();

  @Option(
      names = "--owner-key",
      paramLabel = "FILE",
      description = {
        "the owner's key, if it is not in the context's folder yet: PEM, PKCS #8 or",
        "METROPOLIS INITIAL OWNER PRIVATE KEY; it is copied there"
      })
  Path ownerKey;

  @Override
  protected ExitCode run() throws InterruptedException {
    contact.wanted();
    try (Session session = Session.open(options())) {
      if (ownerKey != null) {
        OwnerKeyFile.copy(ownerKey, session.target().ownerKey());
      }
      OwnerKeyRotation interrupted = new OwnerKeyRotation(session, this::remark);
      if (!interrupted.isBegun()) {
        // A missing key is named before any question about the cluster.
        ownerKey(session.target());
      }
      CaBundle ca = contact.clusterCa(session);
      Optional<X509Certificate> rotated = interrupted.continued(ca);
      FirstContact.Credentials got =
          rotated.isPresent()
              ? new FirstContact.Credentials(ca, rotated.get())
              : contact.fetch(session, ca, "owner", ownerKey(session.target()), this::remark);
      X509Certificate certificate = got.certificate();
      OwnerCertificate.write(session.target(), got.ca(), certificate);
      rotated.ifPresent(accepted -> interrupted.finish(accepted, false));
      JsonObject result = new JsonObject();
      result.addProperty("cluster", session.target().name());
      result.addProperty("certificate", session.target().ownerCertificate().toString());
      result.addProperty("validUntil", certificate.getNotAfter().toInstant().toString());
      return print(
          "Successfully retrieved owner credentials! You now own this cluster until %s.\nThey are in %s. Next: %s"
              .formatted(
                  certificate.getNotAfter().toInstant(),
                  session.target().folder(),
                  options().command("node list")),
          result);
    }
  }

  private static KeyPair ownerKey(CtlTarget target) {
    PrivateKey key =
        OwnerKeyFile.read(
            target.ownerKey(),
            "it is the key whose public half the first node got; name it with --owner-key FILE,"
                + " or make one with '"
                + CtlName.called()
                + " params make'");
    return new KeyPair(Ed25519.publicKey(key), key);
  }
}
