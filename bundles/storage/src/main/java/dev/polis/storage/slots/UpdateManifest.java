package dev.polis.storage.slots;

import dev.polis.rpc.RpcException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Describes an update file: lines with its version and parts, an empty line, then the parts.
 *
 * <pre>
 *   polis-update 1
 *   architecture amd64
 *   version 0.2.0
 *   boot-a 19602273 6f1e…          size and SHA-256
 *   boot-b 19602273 09ab…
 *   system 301621248 77cd…
 * </pre>
 */
record UpdateManifest(String architecture, String version, Map<String, Part> parts, int bytes) {

  static final String SYSTEM = "system";

  private static final String MAGIC = "polis-update 1\n";
  // Six lines, the longest with a digest.
  private static final int LONGEST = 1024;

  /** A part of the file. */
  record Part(long bytes, String sha256) {}

  /** Returns the name of the part with the boot file of a slot. */
  static String boot(char slot) {
    return "boot-" + slot;
  }

  /**
   * Reads the lines, and leaves the stream at the first part.
   *
   * @throws RpcException INVALID_ARGUMENT if the stream does not begin with such lines
   */
  static UpdateManifest read(InputStream update) throws IOException {
    StringBuilder text = new StringBuilder();
    while (!text.toString().endsWith("\n\n")) {
      int next = update.read();
      if (next < 0 || text.length() == LONGEST) {
        throw foreign();
      }
      text.append((char) next);
    }
    return parse(text.toString());
  }

  private static UpdateManifest parse(String text) {
    if (!text.startsWith(MAGIC)) {
      throw foreign();
    }
    Map<String, String> fields = new LinkedHashMap<>();
    Map<String, Part> parts = new LinkedHashMap<>();
    for (String line : text.substring(MAGIC.length()).strip().split("\n")) {
      String[] words = line.split(" ");
      if (words.length == 2) {
        fields.put(words[0], words[1]);
      } else if (words.length == 3
          && words[1].matches("[0-9]{1,15}")
          && words[2].matches("[0-9a-f]{64}")) {
        parts.put(words[0], new Part(Long.parseLong(words[1]), words[2]));
      } else {
        throw foreign();
      }
    }
    if (!parts.keySet().equals(Set.of(boot('a'), boot('b'), SYSTEM))
        || !fields.getOrDefault("version", "").matches("[0-9]{1,9}(\\.[0-9]{1,9}){0,3}")) {
      throw foreign();
    }
    return new UpdateManifest(
        fields.getOrDefault("architecture", "none"),
        fields.get("version"),
        parts,
        text.getBytes(StandardCharsets.ISO_8859_1).length);
  }

  /** Returns the size of the whole file. */
  long total() {
    return bytes + parts.values().stream().mapToLong(Part::bytes).sum();
  }

  private static RpcException foreign() {
    return RpcException.invalid(
        "this is no update file of Polis; \"./polis image build\" makes one, whose name ends with .update; nothing was changed");
  }
}
