package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.polis.pki.CaBundle;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.pki.UserCredentials;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Reads the metrics pages of a node. */
final class MetricsPage {

  private MetricsPage() {}

  /**
   * Reads a page of a node with the owner's key that lies beside the state of the first node.
   *
   * @param path such as {@code /metrics}
   */
  static String of(TestNode first, TestNode node, String path) throws Exception {
    UserCredentials owner = OwnerApi.credentials(first);
    HttpResponse<String> response = get(owner.tls(), owner.ca(), node, path);
    assertEquals(200, response.statusCode(), response.body());
    return response.body();
  }

  /** Requests a page with these keys, over a connection of its own. */
  static HttpResponse<String> get(TlsIdentity keys, CaBundle trusted, TestNode node, String path)
      throws IOException, InterruptedException {
    try (HttpClient client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .sslContext(
                TlsContexts.context(
                    TlsKeys.fixed(keys), TlsTrust.anyNode(TlsTrust.Source.of(trusted))))
            .build()) {
      return client.send(
          HttpRequest.newBuilder(URI.create("https://%s:7840%s".formatted(node.address(), path)))
              .build(),
          HttpResponse.BodyHandlers.ofString());
    }
  }
}
