package dev.polis.kubernetes.client;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonIOException;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonSyntaxException;
import com.google.gson.stream.JsonReader;
import dev.polis.pki.TlsContexts;
import dev.polis.pki.TlsIdentity;
import dev.polis.pki.TlsKeys;
import dev.polis.pki.TlsTrust;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;

/**
 * Makes requests to one API server as one user. Thread-safe; its owner closes it, which ends
 * running requests and watches.
 *
 * <p>An API server reads the user's certificate from the connection with each request, and refuses
 * it once it has expired. So a renewed certificate gets new connections: later requests use those,
 * and running watches end on the old ones.
 */
public final class KubeClient implements AutoCloseable {

  private static final Duration CONNECT = Duration.ofSeconds(5);

  /**
   * The objects of one page; the client handles each as it comes, and an API server ends a request
   * after a minute.
   */
  private static final int PAGE = 100;

  /** The most bytes that are read of a refusal; a Status has some hundred. */
  private static final int LONGEST_REFUSAL = 64 << 10;

  private static final String JSON = "application/json";
  private static final String MERGE = "application/merge-patch+json";

  /**
   * The path at which an API server reports that it is ready, together with its dependencies: etcd,
   * its preparations.
   */
  public static final String READY = "/readyz";

  /** The HTTP code of the API server for a change of an immutable field. */
  private static final int INVALID = 422;

  /** The prefix of a line about a failed check. */
  private static final String FAILED = "[-]";

  /** The content type of a server-side apply; the API server also accepts JSON, which is YAML. */
  private static final String APPLY = "application/apply-patch+yaml";

  private final URI server;
  private final Supplier<Optional<TlsIdentity>> user;
  private final TlsTrust trust;
  private final KubeDeadlines deadlines;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

  private volatile boolean closed;

  // Guarded by this.
  private Connections latest;
  private Connections before;
  private final List<HttpClient> ending = new ArrayList<>();

  /**
   * Holds the connections of one certificate.
   *
   * @param user the user of the certificate; null for a user without one
   */
  private record Connections(TlsIdentity user, HttpClient http) {}

  /**
   * Creates a client, which connects later.
   *
   * @param server its address, such as {@code https://198.18.0.2:6443}
   * @param user supplies the newest certificate of the user with its key; empty for a user without
   *     one
   * @param trust accepts the right server
   */
  public KubeClient(URI server, Supplier<Optional<TlsIdentity>> user, TlsTrust trust) {
    this(server, user, trust, KubeDeadlines.STANDARD);
  }

  KubeClient(
      URI server, Supplier<Optional<TlsIdentity>> user, TlsTrust trust, KubeDeadlines deadlines) {
    this.server = server;
    this.user = user;
    this.trust = trust;
    this.deadlines = deadlines;
    this.latest = connections(user.get());
    this.before = latest;
  }

  private Connections connections(Optional<TlsIdentity> now) {
    // A new context, since a resumed TLS session keeps the certificate of its begin.
    SSLContext tls = TlsContexts.context(new TlsKeys(user), trust);
    return new Connections(
        now.orElse(null),
        HttpClient.newBuilder().sslContext(tls).connectTimeout(CONNECT).executor(threads).build());
  }

  /**
   * Returns the connections of the newest certificate. Connections of the previous certificate stay
   * open for calls that have them already; those of older certificates take no new request and
   * close after their last one.
   */
  private synchronized HttpClient http() throws IOException {
    if (closed) {
      throw closed(null);
    }
    Optional<TlsIdentity> now = user.get();
    if (!Objects.equals(latest.user(), now.orElse(null))) {
      // Running requests and watches continue to their end.
      before.http().shutdown();
      ending.removeIf(HttpClient::isTerminated);
      ending.add(before.http());
      before = latest;
      latest = connections(now);
    }
    return latest.http();
  }

  /** Returns whether a path answers with 200, such as {@code /readyz}. */
  public boolean answers(String path) throws InterruptedException {
    try {
      HttpResponse<String> response =
          exchange(request(path).GET().build(), BodyHandlers.ofString(), CONNECT);
      return response.statusCode() == HttpURLConnection.HTTP_OK;
    } catch (IOException unreachable) {
      return false;
    }
  }

  /**
   * Returns the fault in the answer of a path, such as {@code /readyz}: another code than 200 with
   * its text, or a connection that TLS refuses; empty without a fault or without an answer.
   */
  public Optional<String> complaint(String path) throws InterruptedException {
    try {
      HttpResponse<String> response =
          exchange(request(path).GET().build(), BodyHandlers.ofString(), CONNECT);
      return Optional.of(response)
          .filter(each -> each.statusCode() != HttpURLConnection.HTTP_OK)
          .map(each -> "it answers with %d%s".formatted(each.statusCode(), failed(each.body())));
    } catch (IOException broken) {
      return Optional.of(broken)
          .filter(each -> each.getCause() instanceof SSLException)
          .map(each -> "TLS refuses the connection: " + each.getMessage());
    }
  }

  /** Returns the failed checks, in the form of Kubernetes' programs. */
  private static String failed(String body) {
    return body.lines()
        .filter(line -> line.startsWith(FAILED))
        .map(line -> ", " + line.substring(FAILED.length()))
        .collect(Collectors.joining());
  }

  /** Returns an object; empty if there is none. */
  public Optional<JsonObject> find(String path) throws IOException, InterruptedException {
    try {
      return Optional.of(send(request(path).GET()));
    } catch (KubeException e) {
      if (e.code() == HttpURLConnection.HTTP_NOT_FOUND) {
        return Optional.empty();
      }
      throw e;
    }
  }

  /** Receives the objects of a collection, one after the other. */
  @FunctionalInterface
  public interface Taker {
    /** Receives an object; an exception ends the read. */
    void take(JsonObject object) throws IOException, InterruptedException;
  }

  /**
   * Passes the objects of a collection to a taker, each as soon as it has come. Users determine
   * their number and size, so all together may exceed the memory of this process. The client reads
   * them page by page, all at the same moment.
   *
   * @param path of the collection, with its query
   * @return that moment, as a {@code resourceVersion}
   * @throws KubeException with the code 410 if the API server has forgotten that moment before the
   *     last page; list again
   */
  public String each(String path, Taker taker) throws IOException, InterruptedException {
    String first = path + (path.contains("?") ? "&" : "?") + "limit=" + PAGE;
    JsonObject page = page(first, taker);
    for (String next = text(page, "continue"); !next.isEmpty(); next = text(page, "continue")) {
      page = page(first + "&continue=" + URLEncoder.encode(next, StandardCharsets.UTF_8), taker);
    }
    return text(page, "resourceVersion");
  }

  /** Reads a page and returns its metadata. */
  private JsonObject page(String path, Taker taker) throws IOException, InterruptedException {
    List<JsonObject> metadata = new ArrayList<>();
    read(
        path,
        deadlines.answer(),
        body -> {
          JsonReader json = new JsonReader(new InputStreamReader(body, StandardCharsets.UTF_8));
          json.beginObject();
          while (json.hasNext()) {
            switch (json.nextName()) {
              case "metadata" -> metadata.add(next(json));
              case "items" -> {
                json.beginArray();
                while (json.hasNext()) {
                  taker.take(next(json));
                }
                json.endArray();
              }
              default -> json.skipValue();
            }
          }
          json.endObject();
        });
    return metadata.isEmpty() ? new JsonObject() : metadata.getLast();
  }

  private static JsonObject next(JsonReader json) {
    return JsonParser.parseReader(json).getAsJsonObject();
  }

  /**
   * Returns a list object of a small collection; its {@code items} are the objects.
   *
   * @param path the path, as for {@link #each}, which is for objects of users
   */
  public JsonObject list(String path) throws IOException, InterruptedException {
    JsonArray items = new JsonArray();
    JsonObject metadata = new JsonObject();
    metadata.addProperty("resourceVersion", each(path, items::add));
    JsonObject list = new JsonObject();
    list.add("metadata", metadata);
    list.add("items", items);
    return list;
  }

  /** Returns the objects of a list. */
  public static List<JsonObject> items(JsonObject list) {
    return list.getAsJsonArray("items").asList().stream()
        .map(JsonElement::getAsJsonObject)
        .toList();
  }

  /** Creates an object in a collection. */
  public JsonObject create(String collection, JsonObject object)
      throws IOException, InterruptedException {
    return send(json(collection, JSON).POST(body(object)));
  }

  /** Creates an object, or gives it the wanted content, by server-side apply. */
  public JsonObject apply(String path, String manager, JsonObject object)
      throws IOException, InterruptedException {
    String query = "?force=true&fieldManager=" + URLEncoder.encode(manager, StandardCharsets.UTF_8);
    return send(json(path + query, APPLY).method("PATCH", body(object)));
  }

  /**
   * Applies an object; makes it anew if its immutable fields are others.
   *
   * @return why it was made anew; empty if it was not
   */
  public Optional<String> applyAnew(String path, String manager, JsonObject object)
      throws IOException, InterruptedException {
    try {
      apply(path, manager, object);
      return Optional.empty();
    } catch (KubeException refused) {
      if (refused.code() != INVALID) {
        throw refused;
      }
      delete(path);
      apply(path, manager, object);
      return Optional.of(refused.getMessage());
    }
  }

  /** Changes some fields of an object (JSON merge patch). */
  public JsonObject patch(String path, JsonObject change) throws IOException, InterruptedException {
    return send(json(path, MERGE).method("PATCH", body(change)));
  }

  /** Replaces an object. */
  public JsonObject replace(String path, JsonObject object)
      throws IOException, InterruptedException {
    return send(json(path, JSON).PUT(body(object)));
  }

  /** Deletes an object; does nothing if there is none. */
  public void delete(String path) throws IOException, InterruptedException {
    try {
      send(request(path).DELETE());
    } catch (KubeException e) {
      if (e.code() != HttpURLConnection.HTTP_NOT_FOUND) {
        throw e;
      }
    }
  }

  /**
   * Watches a collection until the server ends the watch, after five minutes; the caller then lists
   * again. The client leaves a silent server a minute later.
   *
   * @param path the path of the collection, with its query and {@code resourceVersion}, without
   *     {@code watch}
   * @param events receives each event: {@code type} and {@code object}
   * @throws InterruptedException if interrupted, which ends the watch
   */
  public void watch(String path, Consumer<JsonObject> events)
      throws IOException, InterruptedException {
    String query =
        "%swatch=true&allowWatchBookmarks=true&timeoutSeconds=%d"
            .formatted(path.contains("?") ? "&" : "?", deadlines.watch().toSeconds());
    read(
        path + query,
        deadlines.watch().plus(deadlines.answer()),
        body -> {
          try (Stream<String> lines =
              new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8)).lines()) {
            lines.map(JsonParser::parseString).map(JsonElement::getAsJsonObject).forEach(events);
          }
        });
  }

  /** Reads the body of an answer as it comes. */
  @FunctionalInterface
  private interface Body {
    void read(InputStream body) throws IOException, InterruptedException;
  }

  /** Makes a request and reads its answer as it comes. */
  private void read(String path, Duration within, Body reader)
      throws IOException, InterruptedException {
    HttpResponse<InputStream> response =
        exchange(request(path).GET().build(), BodyHandlers.ofInputStream(), deadlines.answer());
    CompletableFuture<Void> ended = new CompletableFuture<>();
    try (InputStream body = response.body()) {
      ended
          .orTimeout(within.toMillis(), TimeUnit.MILLISECONDS)
          .exceptionally(late -> abandon(body));
      if (response.statusCode() != HttpURLConnection.HTTP_OK) {
        String said = new String(body.readNBytes(LONGEST_REFUSAL), StandardCharsets.UTF_8);
        throw refusal(response.statusCode(), said, "GET " + path);
      }
      reader.read(body);
    } catch (IOException | UncheckedIOException | JsonIOException broken) {
      // When its reader is interrupted, the JDK's client keeps the interrupt and throws one of
      // these.
      if (Thread.interrupted()) {
        throw new InterruptedException("the answer to GET " + path + " was interrupted");
      }
      throw broken instanceof IOException plain ? plain : (IOException) broken.getCause();
    } finally {
      ended.complete(null);
    }
  }

  private static Void abandon(InputStream body) {
    try {
      body.close();
    } catch (IOException closed) {
      // The reader gets the same failure.
    }
    return null;
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(server.resolve(path)).header("Accept", JSON);
  }

  private HttpRequest.Builder json(String path, String type) {
    return request(path).header("Content-Type", type);
  }

  private static HttpRequest.BodyPublisher body(JsonObject object) {
    return BodyPublishers.ofString(object.toString());
  }

  private JsonObject send(HttpRequest.Builder builder) throws IOException, InterruptedException {
    HttpRequest request = builder.build();
    HttpResponse<String> response = exchange(request, BodyHandlers.ofString(), deadlines.answer());
    if (response.statusCode() / 100 != HttpURLConnection.HTTP_OK / 100) {
      throw refusal(
          response.statusCode(), response.body(), request.method() + " " + request.uri().getPath());
    }
    return JsonParser.parseString(response.body()).getAsJsonObject();
  }

  /**
   * Makes a request and waits for its answer. The timeout of the JDK's client ends with the head of
   * the answer; this one also covers the body, as far as the reader waits for it.
   */
  private <T> HttpResponse<T> exchange(
      HttpRequest request, HttpResponse.BodyHandler<T> reader, Duration within)
      throws IOException, InterruptedException {
    CompletableFuture<HttpResponse<T>> answer = begin(request, reader);
    try {
      return answer.get(within.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException late) {
      throw new IOException(
          "the API server at %s has not answered %s %s within %d s"
              .formatted(server, request.method(), request.uri().getPath(), within.toSeconds()),
          late);
    } catch (ExecutionException failed) {
      if (closed) {
        throw closed(failed.getCause());
      }
      if (failed.getCause() instanceof ConnectException wordless) {
        // The JDK's client reports neither the refused connection nor the address.
        throw new IOException("no connection to the API server at " + server, wordless);
      }
      throw failed.getCause() instanceof IOException broken
          ? new IOException(broken.getMessage(), broken)
          : new IOException("the request to the API server failed", failed.getCause());
    } finally {
      answer.cancel(true);
    }
  }

  private <T> CompletableFuture<HttpResponse<T>> begin(
      HttpRequest request, HttpResponse.BodyHandler<T> reader) throws IOException {
    try {
      return http().sendAsync(request, reader);
    } catch (RejectedExecutionException closing) {
      throw closed(closing);
    }
  }

  private IOException closed(Throwable cause) {
    return new IOException(
        "no connection to the API server at %s: the client was closed by its owner, which stops or has a new one"
            .formatted(server),
        cause);
  }

  private static KubeException refusal(int code, String body, String request) {
    try {
      JsonObject status = JsonParser.parseString(body).getAsJsonObject();
      return new KubeException(
          code,
          "the API server refused %s with %d %s: %s"
              .formatted(request, code, text(status, "reason"), text(status, "message")));
    } catch (JsonSyntaxException | IllegalStateException noStatus) {
      return new KubeException(
          code, "the API server refused %s with %d: %s".formatted(request, code, body.strip()));
    }
  }

  private static String text(JsonObject object, String field) {
    return object.has(field) ? object.get(field).getAsString() : "";
  }

  @Override
  public synchronized void close() {
    // Before the close of the connections, so that each ended request has the reason.
    closed = true;
    latest.http().shutdownNow();
    before.http().shutdownNow();
    ending.forEach(HttpClient::shutdownNow);
    threads.shutdownNow();
  }
}
