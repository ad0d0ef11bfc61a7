package dev.polis.cluster.it;

import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.pki.UserCredentials;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/** Calls an organ as its own callers do. */
final class OrganProbe {

  private OrganProbe() {}

  /**
   * Returns a call that only this organ answers; empty if it answers no calls from outside the
   * node.
   */
  static Optional<SteadyCaller.Call> of(String organ, TestNode node, OwnerApi owner)
      throws Exception {
    return of(organ, node, node, owner);
  }

  /**
   * Returns the same for a node of a cluster.
   *
   * @param founder the node whose ownership was taken
   */
  static Optional<SteadyCaller.Call> of(
      String organ, TestNode founder, TestNode node, OwnerApi owner) throws Exception {
    return switch (organ) {
      case "management" -> Optional.of(owner::newestLine);
      case "debug" -> Optional.of(owner::newestLineForDevelopers);
      case "metrics" -> Optional.of(get(owned(founder), uri(node, 7840, "/metrics/core")));
      case "kubernetes" -> Optional.of(get(owned(founder), uri(node, 6444, "/version")));
      case "curator" -> Optional.of(owner::clusterInfo);
      default -> Optional.empty();
    };
  }

  private static URI uri(TestNode node, int port, String path) {
    return URI.create("https://%s:%d%s".formatted(node.address(), port, path));
  }

  private static SSLContext owned(TestNode node) throws Exception {
    Path owner = node.state().resolve("owner");
    UserCredentials credentials =
        UserCredentials.fromPem(
            Files.readString(owner.resolve("owner-key.pem")),
            Files.readString(owner.resolve("owner.pem")),
            Files.readString(owner.resolve("ca.pem")));
    return TlsContexts.context(
        TlsKeys.fixed(credentials.tls()), TlsTrust.anyNode(TlsTrust.Source.of(credentials.ca())));
  }

  private static SteadyCaller.Call get(SSLContext tls, URI uri) {
    HttpClient client =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).sslContext(tls).build();
    HttpRequest request = HttpRequest.newBuilder(uri).timeout(TestNode.PATIENCE).build();
    return () -> client.send(request, BodyHandlers.ofString());
  }
}
