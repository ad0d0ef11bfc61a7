package dev.polis.ctl.owner;

import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import dev.polis.ctl.session.CtlCommand;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlName;
import dev.polis.ctl.session.CtlTarget;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.OwnerKeyFile;
import dev.polis.ctl.session.Session;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Fingerprint;
import dev.polis.pki.PkiException;
import dev.polis.rpc.RpcClients;
import dev.polis.rpc.RpcTrust;
import dev.polis.wire.curator.CuratorLocalGrpc;
import dev.polis.wire.curator.GetCACertificateRequest;
import java.io.Console;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Turns the owner's key into a certificate of the cluster. */
@Command(
    name = "takeownership",
    description = "Gets the owner's certificate from a new cluster. May be repeated.")
public final class TakeOwnershipCommand extends CtlCommand {

  @Option(
      names = "--accept-ca",
      paramLabel = "FINGERPRINT",
      description =
          "SHA-256 of the cluster's certificate in hexadecimal, instead of a question at the terminal")
  String accepted = "";

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
    Optional<Fingerprint> wanted = accepted();
    try (Session session = Session.open(options())) {
      if (ownerKey != null) {
        OwnerKeyFile.copy(ownerKey, session.target().ownerKey());
      }
      OwnerKeyRotation interrupted = new OwnerKeyRotation(session, this::remark);
      if (!interrupted.isBegun()) {
        // A missing key is named before any question about the cluster.
        ownerKey(session.target());
      }
      X509Certificate ca = clusterCa(session, wanted);
      Optional<X509Certificate> rotated = interrupted.continued(ca);
      X509Certificate certificate =
          rotated.isPresent()
              ? rotated.get()
              : OwnerCertificate.fetch(session, ownerKey(session.target()), ca);
      OwnerCertificate.write(session.target(), ca, certificate);
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

  /** Decides whom to trust: known from before, read on the node itself, or shown and asked for. */
  private X509Certificate clusterCa(Session session, Optional<Fingerprint> wanted)
      throws InterruptedException {
    CtlTarget target = session.target();
    if (Files.isReadable(target.clusterCa())) {
      return Session.certificate(target.clusterCa(), "remove it to be asked again");
    }
    if (Files.isReadable(target.nodeCa())) {
      return Session.certificate(target.nodeCa(), "the node keeps its cluster's certificate there");
    }
    var stub =
        session.limited(
            CuratorLocalGrpc.newBlockingV2Stub(
                session.dial(
                    RpcClients.anonymous(RpcTrust.anybody()),
                    session.address(Session.CURATOR_PORT))));
    ByteString der =
        session.call(
            () ->
                stub.getCACertificate(GetCACertificateRequest.getDefaultInstance())
                    .getIdentityCaCertificate());
    return confirmed(session, OwnerCertificate.answered(der), wanted);
  }

  private static X509Certificate confirmed(
      Session session, X509Certificate ca, Optional<Fingerprint> wanted) {
    Fingerprint fingerprint = Fingerprint.of(ca);
    if (wanted.filter(fingerprint::equals).isPresent()) {
      return ca;
    }
    String question =
        "The authenticity of the cluster at %s can't be established.%n".formatted(session.host())
            + "The SHA-256 fingerprint of its certificate is %s.%n".formatted(fingerprint);
    Console console = System.console();
    if (wanted.isPresent() || console == null || !console.isTerminal()) {
      throw new CtlException(
          question
              + (wanted.isEmpty()
                  ? "There is no terminal to ask at; compare it on the node and give --accept-ca %s"
                      .formatted(fingerprint)
                  : "You accept %s only".formatted(wanted.get())));
    }
    String answer =
        console.readLine("%sAre you sure you want to continue connecting (yes/no)? ", question);
    if (!"yes".equals(answer)) {
      throw new CtlException("not connected, as you wish; nothing was written");
    }
    return ca;
  }

  private Optional<Fingerprint> accepted() {
    try {
      return accepted.isEmpty() ? Optional.empty() : Optional.of(Fingerprint.parse(accepted));
    } catch (PkiException e) {
      throw misused("--accept-ca " + e.getMessage());
    }
  }
}
