package dev.polis.cluster.it;

import dev.polis.fixtures.LiveTree;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;

/**
 * Finds the secrets that a node and its owner keep on disk, in the forms in which they might leak.
 */
final class Secrets {

  private static final String BEGIN = "-----BEGIN PRIVATE KEY-----";
  private static final String END = "-----END PRIVATE KEY-----";

  private Secrets() {}

  /**
   * Returns every private key below a folder: as base64 of its PEM, and its seed as hex and base64.
   */
  static List<String> of(Path folder) throws IOException {
    List<String> secrets = new ArrayList<>();
    for (Path file : LiveTree.bottomUp(folder)) {
      String text = file.toString().endsWith(".pem") ? Files.readString(file) : "";
      if (text.contains(BEGIN)) {
        add(text.substring(text.indexOf(BEGIN) + BEGIN.length(), text.indexOf(END)), secrets);
      }
    }
    if (secrets.isEmpty()) {
      throw new AssertionError("no private key below " + folder + ": this search proves nothing");
    }
    return secrets;
  }

  private static void add(String base64, List<String> secrets) {
    byte[] der = Base64.getMimeDecoder().decode(base64.strip());
    // The seed of an Ed25519 or X25519 key is the end of its PKCS #8 form.
    byte[] seed = java.util.Arrays.copyOfRange(der, der.length - 32, der.length);
    secrets.add(base64.strip().lines().findFirst().orElseThrow());
    secrets.add(HexFormat.of().formatHex(seed));
    secrets.add(Base64.getEncoder().encodeToString(seed));
  }
}
