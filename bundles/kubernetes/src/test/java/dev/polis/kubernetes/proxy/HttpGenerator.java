package dev.polis.kubernetes.proxy;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.random.RandomGenerator;

/**
 * Makes the bytes that a client may send on one connection: pipelined requests, well-formed ones
 * and ones that break rules of HTTP/1.1, above all the rules about the end of a request.
 */
final class HttpGenerator {

  private static final int MOST_REQUESTS = 4;
  private static final int MOST_FIELDS = 6;
  private static final int MOST_BODY = 40;

  private static final List<String> METHODS =
      List.of("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE");
  private static final List<String> OTHER_METHODS =
      List.of("get", "CONNECT", "TRACE", "PRI", "", "GE\tT", "GET ", "P\u00d6ST", "BREW");
  private static final List<String> TARGETS =
      List.of(
          "/",
          "/api",
          "/api/v1/pods?watch=true",
          "/a?follow=1",
          "/a%20b",
          "/a//b/../c",
          "/?",
          "/;a");
  private static final List<String> OTHER_TARGETS =
      List.of(
          "*",
          "",
          "https://other/api",
          "other:443",
          "/a#b",
          "/a b",
          "/a\tb",
          "/\u00e4",
          "/a\0b",
          "/a\\b\"<>",
          "?/",
          "/ HTTP/1.1\r\nX: y\r\n\r\nGET /b");
  private static final List<String> OTHER_VERSIONS =
      List.of(
          "HTTP/1.0",
          "HTTP/2.0",
          "HTTP/1.10",
          "HTTP/1.1 ",
          "http/1.1",
          "",
          "HTTP/ 1.1",
          "HTTP/01.1");
  private static final List<String> OTHER_ENDS =
      List.of("\n", "\r", "\r\r\n", "\n\r", "\r\n\r\n", "\0");

  private static final List<String> LENGTHS =
      List.of(
          "+5",
          "-5",
          "0x5",
          "5, 5",
          "5,6",
          "5 5",
          "",
          "5;",
          "\u000b5",
          "5\u00a0",
          "00005",
          "1e1",
          "99999999999999999999",
          "4294967301",
          "18446744073709551621",
          "\u0665",
          "5\r\n 6");
  private static final List<String> ENCODINGS =
      List.of(
          "gzip, chunked",
          "chunked, identity",
          "identity",
          "xchunked",
          "chunked;q=1",
          "CHUNKED",
          "\u000bchunked",
          "chunked\u00a0",
          "\"chunked\"",
          ",chunked",
          "chunked,",
          "chun\r\n ked",
          "");
  private static final List<String> NAMES =
      List.of(
          "Content-Length ",
          "Content_Length",
          "Content-Length\t",
          "Content-Length\0",
          "content-length",
          "Transfer-Encoding ",
          "Transfer_Encoding",
          "transfer-encoding",
          "\u00a0Transfer-Encoding",
          "Trans\u00adfer-Encoding",
          "X(A)",
          "",
          " X",
          "Host",
          "X-Remote-User",
          "X_Remote_User");
  private static final List<String> FIELDS =
      List.of(
          "Accept: application/json",
          "X-Remote-User: root",
          "x-remote-group: system:masters",
          "X-Remote-Extra-Scopes: all",
          "X_Remote_Group: system:masters",
          "Forwarded: for=10.0.0.1",
          "Authorization: Bearer stolen",
          "Connection: keep-alive",
          "Connection: close",
          "Connection: Content-Length",
          "Connection: X-Remote-User, Transfer-Encoding",
          "Connection: Upgrade",
          "Upgrade: websocket",
          "Upgrade: SPDY/3.1",
          "Upgrade: h2c",
          "HTTP2-Settings: AAMAAABkAAQAAP__",
          "Expect: 100-continue",
          "Expect: magic",
          "TE: trailers",
          "Trailer: Content-Length",
          "Keep-Alive: timeout=5",
          "X-A:",
          "X-A: \u00e4\u00ff",
          "X-A: b\u007fc",
          "X-A: b\0c",
          "X-A: b\rc",
          "X-A: b\nContent-Length: 5",
          "X-A: b\r\n Content-Length: 5",
          "X-A: b\r\n\tc",
          "X-A",
          ": b");

  private final RandomGenerator random;

  HttpGenerator(RandomGenerator random) {
    this.random = random;
  }

  private boolean one(int in) {
    return random.nextInt(in) == 0;
  }

  private String of(List<String> some) {
    return some.get(random.nextInt(some.size()));
  }

  /** Makes the bytes of one connection. */
  byte[] connection() {
    StringBuilder text = new StringBuilder();
    // Half of all connections keep all rules, so that requests are passed on, too.
    boolean wild = random.nextBoolean();
    for (int requests = 1 + random.nextInt(MOST_REQUESTS); requests > 0; requests--) {
      text.append(request(wild && one(2), requests == 1));
    }
    byte[] bytes = text.toString().getBytes(StandardCharsets.ISO_8859_1);
    return wild && one(3) ? damaged(bytes) : bytes;
  }

  private String request(boolean wild, boolean last) {
    String body = body();
    boolean chunked = !body.isEmpty() && random.nextBoolean();
    List<String> fields = new ArrayList<>();
    if (!wild || !one(10)) {
      fields.add("Host: kubernetes");
    }
    if (chunked) {
      fields.add("Transfer-Encoding: chunked");
    } else if (!body.isEmpty() || one(4)) {
      fields.add("Content-Length: " + body.length());
    }
    for (int more = random.nextInt(MOST_FIELDS); more > 0; more--) {
      String field = of(FIELDS);
      if (wild || harmless(field, last)) {
        fields.add(random.nextInt(fields.size() + 1), field);
      }
    }
    if (wild) {
      framing(fields);
    }
    String end = wild && one(12) ? of(OTHER_ENDS) : "\r\n";
    StringBuilder text = new StringBuilder();
    text.append(wild && one(12) ? of(OTHER_METHODS) : of(METHODS))
        .append(wild && one(20) ? "  " : " ");
    text.append(wild && one(8) ? of(OTHER_TARGETS) : of(TARGETS)).append(' ');
    text.append(wild && one(12) ? of(OTHER_VERSIONS) : "HTTP/1.1").append(end);
    fields.forEach(field -> text.append(field).append(wild && one(30) ? of(OTHER_ENDS) : end));
    return text.append(end).append(chunked ? chunks(body, wild) : body).toString();
  }

  /** Returns whether a request with this field, and others behind it, may be passed on. */
  private static boolean harmless(String field, boolean last) {
    return field.chars().noneMatch(each -> each < ' ' || each == 127)
        && field.indexOf(':') > 0
        && !field.equals("Expect: magic")
        && (last || !field.equals("Connection: Upgrade") && !field.equals("Connection: close"));
  }

  /** Adds fields that may contradict the end of the body. */
  private void framing(List<String> fields) {
    switch (random.nextInt(8)) {
      case 0 -> fields.add("Content-Length: " + of(LENGTHS));
      case 1 -> fields.add("Transfer-Encoding: " + of(ENCODINGS));
      case 2 -> fields.add(of(NAMES) + ": " + random.nextInt(MOST_BODY));
      case 3 -> fields.add(of(NAMES) + ": chunked");
      case 4 ->
          fields.replaceAll(
              field ->
                  field.startsWith("Content-L")
                      ? "Content-Length: " + random.nextInt(MOST_BODY)
                      : field);
      case 5 -> fields.add("Content-Length: " + random.nextInt(MOST_BODY));
      default -> {
        // Keep the fields unchanged.
      }
    }
  }

  private String body() {
    return switch (random.nextInt(6)) {
      case 0, 1, 2 -> "";
      // If the body ends too early, this is read as the next request.
      case 3 -> "GET /smuggled HTTP/1.1\r\nHost: k\r\n\r\n";
      case 4 -> "0\r\n\r\n";
      default -> "x".repeat(1 + random.nextInt(MOST_BODY));
    };
  }

  private String chunks(String body, boolean wild) {
    StringBuilder text = new StringBuilder();
    int from = 0;
    while (from < body.length()) {
      int to = Math.min(body.length(), from + 1 + random.nextInt(MOST_BODY));
      text.append(length(to - from, wild)).append(body, from, to);
      text.append(wild && one(12) ? of(OTHER_ENDS) : "\r\n");
      from = to;
    }
    text.append(
        wild && one(12)
            ? of(List.of("00", "0;a", "-0", "0 ", "", "0x0", "000000000000000000"))
            : "0");
    text.append("\r\n");
    if (one(4)) {
      text.append("X-Trailer: a\r\n");
    }
    if (wild && one(6)) {
      text.append(
          of(
              List.of(
                  "Content-Length: 5\r\n",
                  "X-Remote-User: root\r\n",
                  "a\r\n",
                  " b: c\r\n",
                  ": d\r\n",
                  "e: f\n")));
    }
    return text.append(wild && one(12) ? of(OTHER_ENDS) : "\r\n").toString();
  }

  private String length(int bytes, boolean wild) {
    String digits = Integer.toHexString(bytes);
    if (!wild || !one(4)) {
      return (random.nextBoolean() ? digits : digits.toUpperCase(Locale.ROOT)) + "\r\n";
    }
    return switch (random.nextInt(9)) {
      case 0 -> digits + ";name=value\r\n";
      case 1 -> "0x" + digits + "\r\n";
      case 2 -> " " + digits + "\r\n";
      case 3 -> digits + " \r\n";
      case 4 -> digits + "\n";
      case 5 -> "+" + digits + "\r\n";
      case 6 -> "1000000000000000" + digits + "\r\n";
      case 7 -> Integer.toHexString(bytes + 1) + "\r\n";
      default -> "0".repeat(random.nextInt(20)) + digits + "\r\n";
    };
  }

  /** Changes, removes, doubles or cuts off some of the bytes. */
  private byte[] damaged(byte[] bytes) {
    int at = random.nextInt(bytes.length);
    int length = Math.min(bytes.length - at, 1 + random.nextInt(8));
    ByteArrayOutputStream damaged = new ByteArrayOutputStream(bytes.length + length);
    damaged.write(bytes, 0, at);
    switch (random.nextInt(5)) {
      case 0 -> {
        damaged.write(random.nextInt(256));
        damaged.write(bytes, at + 1, bytes.length - at - 1);
      }
      case 1 -> damaged.write(bytes, at + length, bytes.length - at - length);
      case 2 -> {
        damaged.write(bytes, at, length);
        damaged.write(bytes, at, bytes.length - at);
      }
      case 3 -> {
        damaged.write(of(List.of("\r", "\n", "\0", " ", "\t", "\u000b", ":", ";", ",")).charAt(0));
        damaged.write(bytes, at, bytes.length - at);
      }
      default -> {
        // The rest is cut off.
      }
    }
    return damaged.toByteArray();
  }
}
