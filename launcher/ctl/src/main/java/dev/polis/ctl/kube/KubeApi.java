package dev.polis.ctl.kube;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.KubeJson;
import dev.polis.pki.NodeId;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import dev.polis.pki.UserCredentials;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Optional;

/** Asks Kubernetes as the operator, at one controller. */
final class KubeApi implements AutoCloseable {

  private final KubeEndpoint endpoint;
  private final Duration timeout;
  private final HttpClient http;

  /**
   * Opens a client; nothing is connected yet.
   *
   * @param timeout how long an answer may take
   */
  KubeApi(KubeEndpoint endpoint, UserCredentials credentials, Duration timeout) {
    this.endpoint = endpoint;
    this.timeout = timeout;
    this.http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(timeout)
            .sslContext(
                TlsContexts.context(
                    TlsKeys.fixed(credentials.tls()),
                    TlsTrust.node(
                        TlsTrust.Source.of(credentials.ca()), NodeId.parse(endpoint.node()))))
            .build();
  }

  /** Returns an object; empty if there is none. */
  Optional<JsonObject> find(String path) throws InterruptedException {
    HttpResponse<String> response = send(path);
    return switch (response.statusCode()) {
      case HttpURLConnection.HTTP_OK -> Optional.of(json(response));
      case HttpURLConnection.HTTP_NOT_FOUND -> Optional.empty();
      default -> throw refused(path, response);
    };
  }

  private HttpResponse<String> send(String path) throws InterruptedException {
    try {
      return http.send(
          HttpRequest.newBuilder(endpoint.uri().resolve(path)).timeout(timeout).build(),
          HttpResponse.BodyHandlers.ofString());
    } catch (IOException away) {
      throw new CtlException(
          ExitCode.UNREACHABLE,
          "Kubernetes does not answer at %s: %s".formatted(endpoint.uri(), words(away)),
          away);
    }
  }

  /** The JDK's client gives some of its failures no message. */
  private static String words(IOException failure) {
    return failure.getMessage() == null ? failure.getClass().getSimpleName() : failure.getMessage();
  }

  private JsonObject json(HttpResponse<String> response) {
    try {
      return JsonParser.parseString(response.body()).getAsJsonObject();
    } catch (JsonParseException | IllegalStateException e) {
      throw new CtlException(
          endpoint.uri() + " answers what is no Kubernetes: " + e.getMessage(), e);
    }
  }

  private CtlException refused(String path, HttpResponse<String> response) {
    String body = response.body().strip();
    String why = body.startsWith("{") ? KubeJson.text(json(response), "message") : body;
    return new CtlException(
        ExitCode.UNREACHABLE,
        "%s answers %s with %d: %s".formatted(endpoint.uri(), path, response.statusCode(), why));
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
