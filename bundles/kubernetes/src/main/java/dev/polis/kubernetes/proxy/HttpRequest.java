package dev.polis.kubernetes.proxy;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Holds a request without its body.
 *
 * @param method the method, such as GET
 * @param target the path and query, as received
 * @param head all header fields
 * @param body the end of the body
 * @param protocol the wanted new protocol; empty for none
 */
record HttpRequest(String method, String target, HttpHead head, HttpBody body, String protocol) {

  /** The protocols to which clients of Kubernetes change, for exec, attach and port-forward. */
  private static final Set<String> PROTOCOLS = Set.of("spdy/3.1", "websocket");

  /** The methods that change nothing, so that the proxy may repeat a request. */
  private static final Set<String> READING = Set.of("GET", "HEAD", "OPTIONS");

  private static final Set<String> METHODS =
      Set.of("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE");

  private static final String BEARER = "Bearer ";

  private static final Set<String> TRUE = Set.of("1", "t", "true");

  /** The parameters of requests with an endless answer: watches and followed logs. */
  private static final Set<String> LASTING = Set.of("watch", "follow");

  /**
   * Reads a request up to its body.
   *
   * @throws HttpSyntaxException if it is malformed, or of a kind that no client of Kubernetes sends
   */
  static HttpRequest read(InputStream in, int mostOfHead) throws IOException {
    HttpHead head = HttpHead.read(in, mostOfHead);
    String[] words = head.line().split(" ", -1);
    if (words.length != 3) {
      throw HttpSyntaxException.bad(
          "the request begins with \"%s\"; it must begin with method, path and version"
              .formatted(
                  HttpHead.printable(
                      head.line().substring(0, Math.min(80, head.line().length())))));
    }
    if (!words[2].equals("HTTP/1.1")) {
      throw new HttpSyntaxException(
          HttpCodes.VERSION_NOT_SUPPORTED,
          "the version is \"%s\"; send HTTP/1.1".formatted(HttpHead.printable(words[2])));
    }
    if (!METHODS.contains(words[0])) {
      throw new HttpSyntaxException(
          HttpCodes.METHOD_NOT_ALLOWED,
          "the method is \"%s\"; send one of %s"
              .formatted(HttpHead.printable(words[0]), METHODS.stream().sorted().toList()));
    }
    return checked(words[0], words[1], head);
  }

  private static HttpRequest checked(String method, String target, HttpHead head)
      throws HttpSyntaxException {
    if (!isPath(target)) {
      throw HttpSyntaxException.bad(
          "\"%s\" is not a path on this server".formatted(HttpHead.printable(target)));
    }
    if (head.single("Host").isEmpty()) {
      throw HttpSyntaxException.bad("the request has no Host");
    }
    HttpRequest request =
        new HttpRequest(method, target, head, HttpBody.ofRequest(head), upgrade(head).orElse(""));
    if (request.upgrade().isPresent() && !request.body().empty()) {
      throw HttpSyntaxException.bad("a request that changes the protocol must have no body");
    }
    if (head.single("Expect").filter(HttpRequest::notContinue).isPresent()) {
      throw new HttpSyntaxException(
          HttpCodes.EXPECTATION_FAILED, "the header Expect must be \"100-continue\"");
    }
    return request;
  }

  /** Returns whether a target begins with a slash and has only printable characters without #. */
  private static boolean isPath(String target) {
    for (int at = 0; at < target.length(); at++) {
      char next = target.charAt(at);
      if (next < '!' || next > '~' || next == '#') {
        return false;
      }
    }
    return target.startsWith("/");
  }

  private static boolean notContinue(String expectation) {
    return !expectation.equalsIgnoreCase("100-continue");
  }

  /** Returns the wanted new protocol; the proxy passes on only those of Kubernetes. */
  private static Optional<String> upgrade(HttpHead head) throws HttpSyntaxException {
    return head.lists("Connection", "Upgrade")
        ? head.single("Upgrade")
            .filter(protocol -> PROTOCOLS.contains(protocol.toLowerCase(Locale.ROOT)))
        : Optional.empty();
  }

  /** Returns the wanted new protocol. */
  Optional<String> upgrade() {
    return Optional.of(protocol).filter(named -> !named.isEmpty());
  }

  /** Returns whether the client waits for "100 Continue" before the body. */
  boolean expectsContinue() {
    return !body.empty() && !head.values("Expect").isEmpty();
  }

  /** Returns whether the answer lasts until one side ends it. */
  boolean lasts() {
    int query = target.indexOf('?');
    return query >= 0
        && Arrays.stream(target.substring(query + 1).split("&"))
            .map(parameter -> parameter.split("=", 2))
            .anyMatch(
                parameter ->
                    parameter.length == 2
                        && LASTING.contains(parameter[0])
                        && TRUE.contains(parameter[1].toLowerCase(Locale.ROOT)));
  }

  /**
   * Returns whether the request goes to a Pod, a Service or a node, which may take any time to
   * answer. Such a path is {@code /api/v1/nodes/NAME/proxy/...} or {@code
   * /api/v1/namespaces/NAME/pods/NAME/proxy}.
   */
  boolean proxied() {
    String[] steps = target.split("[?]", 2)[0].split("/");
    int place = steps.length > 3 && steps[3].equals("namespaces") ? 7 : 5;
    return steps.length > place && steps[1].equals("api") && steps[place].equals("proxy");
  }

  /**
   * Returns the token that identifies the client, as in the header field Authorization.
   *
   * @throws HttpSyntaxException if there are several
   */
  Optional<String> bearer() throws HttpSyntaxException {
    return head.single("Authorization")
        .filter(value -> value.regionMatches(true, 0, BEARER, 0, BEARER.length()));
  }

  /** Returns whether a repetition of the request does no harm. */
  boolean repeatable() {
    return READING.contains(method) && body.empty();
  }

  /** Returns whether the client keeps the connection for further requests. */
  boolean keepsAlive() {
    return !head.lists("Connection", "close");
  }

  /** Returns the header fields for the API server, without those that a client may not choose. */
  List<HttpHead.Field> fields() {
    List<HttpHead.Field> passed = head.endToEnd();
    passed.removeIf(field -> reserved(field.name()));
    return passed;
  }

  /** Returns whether a field identifies the client; only the proxy may set it. */
  private static boolean reserved(String name) {
    String lower = name.toLowerCase(Locale.ROOT).replace('_', '-');
    return lower.startsWith("x-remote-")
        || lower.startsWith("x-forwarded-")
        || lower.equals("forwarded")
        || lower.equals("x-real-ip")
        || lower.equals("authorization")
        || lower.equals("expect");
  }
}
