package dev.polis.kubernetes.proxy;

import java.io.IOException;
import java.io.InputStream;
import java.util.regex.Pattern;

/**
 * Holds a response without its body.
 *
 * @param code the status code
 * @param head the first line and the header fields
 */
record HttpResponse(int code, HttpHead head) {

  private static final Pattern LINE = Pattern.compile("HTTP/1\\.1 [1-5][0-9]{2}( .*)?");

  /**
   * The most interim responses; an API server sends at most one, and an endless series must stop.
   */
  private static final int MOST_INTERIM = 8;

  /**
   * Reads the head of a response, and skips interim ones.
   *
   * @throws HttpSyntaxException if it is no response
   */
  static HttpResponse read(InputStream in) throws IOException {
    for (int interim = 0; interim < MOST_INTERIM; interim++) {
      HttpHead head = HttpHead.read(in, HttpHead.MOST_BYTES);
      if (!LINE.matcher(head.line()).matches()) {
        throw HttpSyntaxException.bad(
            "the answer begins with \"%s\", which is not a status line"
                .formatted(HttpHead.printable(head.line())));
      }
      int code = Integer.parseInt(head.line().substring(9, 12));
      if (code >= HttpCodes.OK || code == HttpCodes.SWITCHING_PROTOCOLS) {
        return new HttpResponse(code, head);
      }
    }
    throw HttpSyntaxException.bad(
        "the answer does not come after " + MOST_INTERIM + " interim ones");
  }

  /** Returns whether the server keeps the connection for further requests. */
  boolean keepsAlive() {
    return !head.lists("Connection", "close");
  }
}
