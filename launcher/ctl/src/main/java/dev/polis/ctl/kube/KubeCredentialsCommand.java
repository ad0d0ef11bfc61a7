package dev.polis.ctl.kube;

import com.google.gson.JsonObject;
import dev.polis.ctl.owner.OwnerCertificate;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import dev.polis.pki.Renewal;
import dev.polis.pki.UserCredentials;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.time.Instant;
import picocli.CommandLine.Command;

/**
 * Prints the operator's certificate and key for kubectl, which runs this command as the kubeconfig
 * tells it to. A certificate near its end is replaced by a new one first.
 */
@Command(
    name = KubeCredentialsCommand.NAME,
    description = "Prints the credentials for kubectl, which calls this command itself.",
    hidden = true)
public final class KubeCredentialsCommand extends SessionCommand {

  static final String NAME = "kubernetes-credentials";

  /** Kubernetes' interface for programs that know credentials. */
  static final String API = "client.authentication.k8s.io/v1";

  @Override
  protected ExitCode run(Session session) throws InterruptedException {
    UserCredentials credentials = session.credentials();
    X509Certificate certificate = fresh(session, credentials);
    out().println(document(credentials, certificate));
    return ExitCode.OK;
  }

  private X509Certificate fresh(Session session, UserCredentials credentials)
      throws InterruptedException {
    Renewal life = Renewal.of(credentials.certificate());
    Instant now = Instant.now();
    if (!life.due(now)) {
      return credentials.certificate();
    }
    try {
      KeyPair owner =
          new KeyPair(Ed25519.publicKey(credentials.privateKey()), credentials.privateKey());
      X509Certificate renewed = OwnerCertificate.fetch(session, owner, credentials.ca());
      OwnerCertificate.write(session.target(), credentials.ca(), renewed);
      return renewed;
    } catch (CtlException notNow) {
      if (life.invalid(now)) {
        throw notNow;
      }
      remark(
          "the certificate ends at %s and was not renewed: %s"
              .formatted(life.notAfter(), notNow.getMessage()));
      return credentials.certificate();
    }
  }

  private static JsonObject document(UserCredentials credentials, X509Certificate certificate) {
    JsonObject status = new JsonObject();
    status.addProperty("expirationTimestamp", certificate.getNotAfter().toInstant().toString());
    status.addProperty("clientCertificateData", Pem.encode(certificate));
    status.addProperty("clientKeyData", Pem.encode(credentials.privateKey()));
    JsonObject document = new JsonObject();
    document.addProperty("apiVersion", API);
    document.addProperty("kind", "ExecCredential");
    document.add("status", status);
    return document;
  }
}
