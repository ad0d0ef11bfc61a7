package dev.polis.kubernetes.proxy;

import dev.polis.logtree.Log;
import dev.polis.rpc.LogBudget;
import dev.polis.rpc.TlsConnection;
import dev.polis.rpc.TlsHandler;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Passes requests of users to the API server, and returns its answers. */
final class ProxyHandler implements TlsHandler {

  /** The time for a head of a few packets; a slower client blocks a connection on purpose. */
  private static final Duration HEAD = Duration.ofSeconds(9);

  /**
   * The time for each part of a body in either direction, and for the whole request of a client
   * without a certificate. It is longer than the API server may take in between.
   */
  static final Duration PART = Duration.ofSeconds(90);

  /** The time for an answer; the API server itself ends a request after 60 s, with a message. */
  private static final Duration ANSWER = Duration.ofSeconds(75);

  /** The time in which an API server that refuses a body before its end answers. */
  private static final Duration EARLY_ANSWER = Duration.ofSeconds(1);

  /**
   * The delay before a retry; a restarted API server is back after about 3 s, and clients try ten
   * times.
   */
  private static final Duration AGAIN = Duration.ofSeconds(1);

  private static final String FROM = "X-Forwarded-For";

  private final ProxyAccess access;
  private final ProxyBackend.Source backend;
  private final ProxyPool users;
  private final ProxyPool bearers;
  private final Duration part;
  private final Log log;
  private final LogBudget budget = LogBudget.ofRefusals();

  /**
   * Creates a handler.
   *
   * @param users the connections that identify the user
   * @param bearers the connections for requests with a token
   * @param part the time for each part of a body
   */
  ProxyHandler(
      ProxyAccess access,
      ProxyBackend.Source backend,
      ProxyPool users,
      ProxyPool bearers,
      Duration part,
      Log log) {
    this.access = access;
    this.backend = backend;
    this.users = users;
    this.bearers = bearers;
    this.part = part;
    this.log = log;
  }

  @Override
  public boolean isMember(X509Certificate certificate) {
    try {
      access.user(certificate);
      return true;
    } catch (ProxyRefusal stranger) {
      return false;
    }
  }

  @Override
  public Next handle(TlsConnection client) throws IOException {
    client.limit(HEAD);
    boolean withBody = true;
    try {
      Optional<X509Certificate> shown = client.certificate();
      if (shown.isPresent()) {
        // Before the first byte of the request, since a stranger's head is not worth the memory.
        access.user(shown.get());
      }
      HttpRequest request =
          HttpRequest.read(
              client.input(),
              shown.isPresent() ? HttpHead.MOST_BYTES : HttpHead.MOST_BYTES_OF_STRANGERS);
      client.limit(part);
      withBody = !request.method().equals("HEAD");
      return forward(request, client);
    } catch (HttpSyntaxException wrong) {
      return refuse(ProxyRefusal.of(wrong), client, withBody);
    } catch (ProxyRefusal refusal) {
      report(refusal, client);
      return refuse(refusal, client, withBody);
    } catch (RuntimeException defect) {
      log.error("this proxy has a defect, which ended a request of %s", client.peer(), defect);
      return new Next.Close();
    }
  }

  private void report(ProxyRefusal refusal, TlsConnection client) {
    if (refusal.getCause() instanceof RuntimeException unforeseen) {
      budget.warn(
          log, "the proxy cannot read the certificate of %s".formatted(client.peer()), unforeseen);
    }
  }

  private static Next refuse(ProxyRefusal refusal, TlsConnection client, boolean withBody)
      throws IOException {
    refusal.write(client.output(), withBody);
    return new Next.Close();
  }

  private Next forward(HttpRequest request, TlsConnection client) throws IOException, ProxyRefusal {
    ProxyBackend.Present server =
        switch (backend()) {
          case ProxyBackend.Absent(String why) -> throw ProxyRefusal.absent(why);
          case ProxyBackend.Starting(String why) -> throw ProxyRefusal.unreached(why, AGAIN);
          case ProxyBackend.Present present -> present;
        };
    ProxySender sender = access.sender(client.certificate(), request.bearer());
    ProxyPool pool = sender instanceof ProxySender.User ? users : bearers;
    if (request.proxied() && request.upgrade().isEmpty()) {
      return stream(request, sender, client, connect(pool, server, true).connection());
    }
    ProxyPool.Taken taken = connect(pool, server, false);
    try {
      return exchange(request, sender, client, new Upstream(pool, server, taken.connection()));
    } catch (EndedUnused ended) {
      if (!taken.used() || !request.repeatable()) {
        throw ProxyRefusal.brokenOff(ended.getMessage());
      }
    }
    // The connection had ended before the request, so the proxy repeats the request once on a new
    // one.
    try {
      return exchange(
          request,
          sender,
          client,
          new Upstream(pool, server, connect(pool, server, true).connection()));
    } catch (EndedUnused ended) {
      throw ProxyRefusal.brokenOff(ended.getMessage());
    }
  }

  private ProxyBackend backend() throws IOException {
    try {
      return backend.await();
    } catch (InterruptedException replaced) {
      Thread.currentThread().interrupt();
      throw new IOException("the request was interrupted", replaced);
    }
  }

  /**
   * Holds a connection to the API server, and the pool that gets it after the request.
   *
   * @param pool the pool that keeps it
   */
  private record Upstream(ProxyPool pool, ProxyBackend.Present server, TlsConnection connection) {}

  /**
   * Sends a request whose answer may begin at any time, and passes both connections to the
   * platform. The platform ends them when the client leaves or no longer belongs to the cluster.
   */
  private Next stream(
      HttpRequest request, ProxySender sender, TlsConnection client, TlsConnection upstream)
      throws IOException, ProxyRefusal {
    boolean sent = false;
    try {
      send(request, sender, client, upstream);
      upstream.readWithin(Duration.ZERO);
      sent = true;
      return new Next.Stream(upstream);
    } catch (EndedUnused ended) {
      throw ProxyRefusal.brokenOff(ended.getMessage());
    } finally {
      if (!sent) {
        upstream.abort();
      }
    }
  }

  private static ProxyPool.Taken connect(ProxyPool pool, ProxyBackend.Present server, boolean fresh)
      throws ProxyRefusal {
    try {
      ProxyPool.Taken taken = fresh ? pool.fresh(server) : pool.take(server);
      taken.connection().readWithin(ANSWER);
      return taken;
    } catch (IOException away) {
      throw ProxyRefusal.unreached(
          "the API server of this node does not answer at %s:%d: %s; 'polisctl kube status' says why"
              .formatted(
                  server.address().getAddress().getHostAddress(),
                  server.address().getPort(),
                  away.getMessage()),
          AGAIN);
    }
  }

  /** Reports that a connection ended before the first byte of the answer. */
  private static final class EndedUnused extends Exception {
    private static final long serialVersionUID = 1L;

    EndedUnused(IOException cause) {
      super("the API server ended the connection without an answer: " + cause.getMessage(), cause);
    }
  }

  private Next exchange(HttpRequest request, ProxySender sender, TlsConnection client, Upstream to)
      throws IOException, ProxyRefusal, EndedUnused {
    TlsConnection upstream = to.connection();
    boolean kept = false;
    try {
      boolean whole = send(request, sender, client, upstream);
      client.limit(part);
      HttpResponse response = whole ? receive(upstream) : receiveEarly(upstream);
      Next next = answer(request, response, client, upstream);
      if (next instanceof Next.Join || next instanceof Next.Stream) {
        kept = true;
      } else if (whole && reusable(request, response)) {
        kept = true;
        to.pool().give(to.server(), upstream);
      }
      return whole ? next : new Next.Close();
    } finally {
      if (!kept) {
        upstream.abort();
      }
    }
  }

  /** Returns whether the server's connection is free of bytes of this exchange. */
  private static boolean reusable(HttpRequest request, HttpResponse response)
      throws HttpSyntaxException {
    return request.upgrade().isEmpty()
        && response.keepsAlive()
        && !(HttpBody.ofResponse(response.head(), response.code(), request.method())
            instanceof HttpBody.UntilEnd);
  }

  /** Sends a request; returns false if the server took only a part of the body. */
  private boolean send(
      HttpRequest request, ProxySender sender, TlsConnection client, TlsConnection upstream)
      throws IOException, EndedUnused {
    try {
      writeRequest(request, sender, client.peer().getAddress(), upstream.output());
      upstream.output().flush();
    } catch (IOException ended) {
      throw new EndedUnused(ended);
    }
    if (request.expectsContinue()) {
      client.output().write("HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      client.output().flush();
    }
    try {
      // A slow body occupies two connections, so the whole body of a stranger has one limit.
      Runnable progress = client.certificate().isPresent() ? () -> client.limit(part) : () -> {};
      request.body().copy(client.input(), upstream.output(), progress);
      return true;
    } catch (HttpSyntaxException wrong) {
      throw wrong;
    } catch (IOException broken) {
      // The server may have answered and closed before the end, and its answer tells the client
      // more.
      return false;
    }
  }

  /** Writes a request for the API server, up to its body. */
  static void writeRequest(
      HttpRequest request, ProxySender sender, InetAddress from, OutputStream out)
      throws IOException {
    writeHead(
        request.method() + " " + request.target() + " HTTP/1.1",
        out,
        fields(request, sender, from));
  }

  private static List<HttpHead.Field> fields(
      HttpRequest request, ProxySender sender, InetAddress from) {
    List<HttpHead.Field> fields = new ArrayList<>(request.fields());
    fields.addAll(request.body().fields());
    fields.addAll(sender.fields());
    fields.add(new HttpHead.Field(FROM, from.getHostAddress()));
    if (request.upgrade().isPresent()) {
      fields.add(new HttpHead.Field("Connection", "Upgrade"));
      fields.add(new HttpHead.Field("Upgrade", request.upgrade().get()));
    } else if (request.lasts() || request.proxied()) {
      // The answer ends with the connection, so the proxy passes its bytes unchanged.
      fields.add(new HttpHead.Field("Connection", "close"));
    }
    return fields;
  }

  /** Reads the answer of a server that did not take the whole body. */
  private static HttpResponse receiveEarly(TlsConnection upstream) throws IOException {
    try {
      upstream.readWithin(EARLY_ANSWER);
      return HttpResponse.read(upstream.input());
    } catch (HttpSyntaxException wrong) {
      throw new IOException("the API server's early answer is not HTTP", wrong);
    }
  }

  private static HttpResponse receive(TlsConnection upstream) throws ProxyRefusal, EndedUnused {
    try {
      return HttpResponse.read(upstream.input());
    } catch (SocketTimeoutException late) {
      throw ProxyRefusal.late(
          "the API server of this node has not answered within %d s".formatted(ANSWER.toSeconds()));
    } catch (HttpSyntaxException wrong) {
      throw ProxyRefusal.brokenOff("the API server's answer is not HTTP: " + wrong.getMessage());
    } catch (IOException ended) {
      throw new EndedUnused(ended);
    }
  }

  private Next answer(
      HttpRequest request, HttpResponse response, TlsConnection client, TlsConnection upstream)
      throws IOException, ProxyRefusal {
    if (response.code() == HttpCodes.SWITCHING_PROTOCOLS) {
      return switched(request, response, client, upstream);
    }
    return request.lasts() && request.upgrade().isEmpty()
        ? follow(request, response, client, upstream)
        : relay(request, response, client, upstream);
  }

  private static Next switched(
      HttpRequest request, HttpResponse response, TlsConnection client, TlsConnection upstream)
      throws IOException, ProxyRefusal {
    String wanted =
        request
            .upgrade()
            .orElseThrow(
                () ->
                    ProxyRefusal.brokenOff(
                        "the API server changed the protocol without a request"));
    List<HttpHead.Field> fields = new ArrayList<>(response.head().endToEnd());
    fields.add(new HttpHead.Field("Connection", "Upgrade"));
    fields.add(new HttpHead.Field("Upgrade", response.head().single("Upgrade").orElse(wanted)));
    joined(response, fields, client, upstream);
    return new Next.Join(upstream);
  }

  private Next follow(
      HttpRequest request, HttpResponse response, TlsConnection client, TlsConnection upstream)
      throws IOException, ProxyRefusal {
    HttpBody body = framing(request, response);
    if (body instanceof HttpBody.UntilEnd) {
      return relay(request, response, client, upstream);
    }
    List<HttpHead.Field> fields = new ArrayList<>(response.head().endToEnd());
    fields.addAll(body.fields());
    fields.add(new HttpHead.Field("Connection", "close"));
    joined(response, fields, client, upstream);
    return new Next.Stream(upstream);
  }

  private static void joined(
      HttpResponse response,
      List<HttpHead.Field> fields,
      TlsConnection client,
      TlsConnection upstream)
      throws IOException {
    writeHead(response.head().line(), client.output(), fields);
    client.output().flush();
    upstream.readWithin(Duration.ZERO);
  }

  private Next relay(
      HttpRequest request, HttpResponse response, TlsConnection client, TlsConnection upstream)
      throws IOException, ProxyRefusal {
    HttpBody body = framing(request, response);
    boolean keep = request.keepsAlive() && request.upgrade().isEmpty();
    List<HttpHead.Field> fields = new ArrayList<>(response.head().endToEnd());
    // The answer to HEAD has the length of the answer to GET.
    fields.addAll(
        request.method().equals("HEAD")
            ? response.head().fields().stream().filter(each -> each.is("Content-Length")).toList()
            : body.fields());
    if (!keep) {
      fields.add(new HttpHead.Field("Connection", "close"));
    }
    client.limit(part);
    writeHead(response.head().line(), client.output(), fields);
    try {
      body.copy(upstream.input(), client.output(), () -> client.limit(part));
    } catch (HttpSyntaxException wrong) {
      // A part of the answer is sent, so only its broken end can inform the client.
      throw new IOException("the API server's answer is not HTTP", wrong);
    }
    return keep ? new Next.Keep() : new Next.Close();
  }

  private static HttpBody framing(HttpRequest request, HttpResponse response) throws ProxyRefusal {
    try {
      return HttpBody.ofResponse(response.head(), response.code(), request.method());
    } catch (HttpSyntaxException wrong) {
      throw ProxyRefusal.brokenOff("the API server's answer is not HTTP: " + wrong.getMessage());
    }
  }

  private static void writeHead(String line, OutputStream out, List<HttpHead.Field> fields)
      throws IOException {
    StringBuilder head = new StringBuilder(line).append("\r\n");
    fields.forEach(
        field -> head.append(field.name()).append(": ").append(field.value()).append("\r\n"));
    out.write(head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1));
  }
}
