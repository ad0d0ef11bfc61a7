package dev.polis.benchmarks;

import dev.polis.kubernetes.client.KubeClient;
import dev.polis.pki.Pem;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.pki.UserCredentials;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;

/**
 * Holds one user's access to the API of Kubernetes.
 *
 * @param server such as {@code https://198.18.0.2:6443}
 * @param user the user's key and certificate
 * @param trust in the CA of the server
 */
record ApiAccess(URI server, TlsIdentity user, TlsTrust trust) {

  /** Returns the access of a user of the cluster, through the proxy of a node. */
  static ApiAccess proxy(String address, int port, UserCredentials user) {
    return of(
        URI.create("https://" + address + ":" + port), user.tls(), TlsTrust.Source.of(user.ca()));
  }

  /** Returns the access that a kubeconfig with embedded certificates describes. */
  static ApiAccess kubeconfig(String text) {
    return of(
        URI.create(field(text, "server")),
        decoded(text, "client-key-data"),
        decoded(text, "client-certificate-data"),
        decoded(text, "certificate-authority-data"));
  }

  /** Returns the access of a user whose key and certificates are given as PEM. */
  static ApiAccess of(URI server, String key, String certificate, String ca) {
    return of(
        server,
        TlsIdentity.of(Pem.privateKey(key), Pem.certificate(certificate)),
        TlsTrust.Source.of(Pem.certificate(ca)));
  }

  private static ApiAccess of(URI server, TlsIdentity user, TlsTrust.Source trust) {
    return new ApiAccess(server, user, TlsTrust.authority(trust));
  }

  /** Returns the TLS context for connections. */
  SSLContext tls() {
    return TlsContexts.context(TlsKeys.fixed(user), trust);
  }

  private static String decoded(String text, String name) {
    return new String(Base64.getDecoder().decode(field(text, name)), StandardCharsets.US_ASCII);
  }

  /** Returns the value of a field that stands on one line of a kubeconfig. */
  static String field(String text, String name) {
    Matcher line = Pattern.compile("\\b" + name + ": *\"?([^\"\\s}]+)").matcher(text);
    if (!line.find()) {
      throw new IllegalArgumentException("the kubeconfig has no " + name);
    }
    return line.group(1);
  }

  KubeClient client() {
    return new KubeClient(server, () -> Optional.of(user), trust);
  }

  InetSocketAddress socket() {
    return new InetSocketAddress(server.getHost(), server.getPort());
  }
}
