package dev.polis.cluster.it;

import dev.polis.fixtures.LiveTree;
import dev.polis.wire.sealed.SealedConfiguration;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Collects the secrets of a bootstrap, and finds them in a text in every encoding in which a log
 * could hold them.
 *
 * <p>A log may hold a part only, because long lines are cut. So the search is for windows of
 * {@value #WINDOW} bytes from the beginning and from the end of each secret.
 */
final class Secrets {

  /**
   * The size of a window in bytes: 96 bits do not occur by chance, and a key of 32 bytes has two
   * windows.
   */
  private static final int WINDOW = 12;

  private static final Pattern KEY =
      Pattern.compile("-----BEGIN (?<form>[A-Z ]*)PRIVATE KEY-----(?<key>[^-]+)-----END");

  private static final int SEED = 32;

  private final Map<String, byte[]> secrets = new LinkedHashMap<>();

  /** Adds a secret; an empty one is an error of the calling test. */
  Secrets add(String name, byte[] secret) {
    if (secret.length < WINDOW) {
      throw new AssertionError(
          "%s has %d bytes: a search for it proves nothing".formatted(name, secret.length));
    }
    secrets.put(name, secret);
    return this;
  }

  /** Adds the seed of every private key in a PEM file below a folder. */
  Secrets addKeysBelow(Path folder) throws IOException {
    int before = secrets.size();
    for (Path file : LiveTree.bottomUp(folder)) {
      String text = file.toString().endsWith(".pem") ? Files.readString(file) : "";
      Matcher matcher = KEY.matcher(text);
      if (matcher.find()) {
        byte[] key = Base64.getMimeDecoder().decode(matcher.group("key").strip());
        // The seed of an Ed25519 or X25519 key ends its PKCS #8 form; in the other form of an
        // owner's key the public key follows the seed.
        int seed = matcher.group("form").isEmpty() ? key.length - SEED : 0;
        add(folder.relativize(file).toString(), Arrays.copyOfRange(key, seed, seed + SEED));
      }
    }
    if (secrets.size() == before) {
      throw new AssertionError("no private key below " + folder + ": this search proves nothing");
    }
    return this;
  }

  /** Adds the node's half of the volume key and the join key, from the sealed configuration. */
  Secrets addSealedConfiguration(Path state) throws IOException {
    byte[] file = Files.readAllBytes(state.resolve("esp/sealed_configuration.pb"));
    // The file has header lines, an empty line, and the message.
    int header = new String(file, StandardCharsets.ISO_8859_1).indexOf("\n\n") + 2;
    SealedConfiguration sealed =
        SealedConfiguration.parseFrom(Arrays.copyOfRange(file, header, file.length));
    add("node unlock key", sealed.getNodeUnlockKey().toByteArray());
    return add("join key", sealed.getJoinKey().toByteArray());
  }

  Set<String> names() {
    return new TreeSet<>(secrets.keySet());
  }

  /** Returns the secrets in a text, with their forms. */
  List<String> foundIn(String text) {
    List<String> found = new ArrayList<>();
    secrets.forEach(
        (name, secret) ->
            forms(secret)
                .forEach(
                    (form, encoded) -> {
                      if (encoded.stream().anyMatch(text::contains)) {
                        found.add(name + " as " + form);
                      }
                    }));
    return found;
  }

  /** Returns the windows of a secret in each encoding. */
  static Map<String, Set<String>> forms(byte[] secret) {
    Map<String, Set<String>> forms = new LinkedHashMap<>();
    for (byte[] window :
        List.of(
            Arrays.copyOf(secret, WINDOW),
            Arrays.copyOfRange(secret, secret.length - WINDOW, secret.length))) {
      add(forms, "hex", HexFormat.of().formatHex(window));
      add(forms, "hex", HexFormat.of().withUpperCase().formatHex(window));
      add(forms, "hex", HexFormat.ofDelimiter(":").formatHex(window));
      add(forms, "hex", HexFormat.ofDelimiter(" ").formatHex(window));
      add(forms, "hex", HexFormat.ofDelimiter(", ").withPrefix("0x").formatHex(window));
      base64(window).forEach(text -> add(forms, "base64", text));
      add(forms, "Java's list of bytes", inner(Arrays.toString(window)));
      int[] unsigned = new int[WINDOW];
      Arrays.setAll(unsigned, at -> Byte.toUnsignedInt(window[at]));
      add(forms, "list of numbers", inner(Arrays.toString(unsigned)));
      add(forms, "list of numbers", inner(Arrays.toString(unsigned)).replace(",", ""));
      add(forms, "text of protobuf", octal(window));
      add(forms, "raw bytes", new String(window, StandardCharsets.ISO_8859_1));
      add(forms, "raw bytes", new String(window, StandardCharsets.UTF_8));
    }
    return forms;
  }

  private static void add(Map<String, Set<String>> forms, String form, String text) {
    forms.computeIfAbsent(form, name -> new LinkedHashSet<>()).add(text);
  }

  private static String inner(String list) {
    return list.substring(1, list.length() - 1);
  }

  /** Returns base64 at each of the three places where a window can begin in a longer text. */
  private static Set<String> base64(byte[] window) {
    Set<String> texts = new LinkedHashSet<>();
    for (int before = 0; before < 3; before++) {
      byte[] shifted = new byte[before + WINDOW];
      System.arraycopy(window, 0, shifted, before, WINDOW);
      // Leaves out digits at the edges, which also depend on neighbouring bytes.
      int from = before == 0 ? 0 : before + 1;
      int to = (before + WINDOW) * 8 / 6;
      for (Base64.Encoder encoder : List.of(Base64.getEncoder(), Base64.getUrlEncoder())) {
        texts.add(encoder.withoutPadding().encodeToString(shifted).substring(from, to));
      }
    }
    return texts;
  }

  /** Returns bytes as protobuf prints them: all but printable ASCII as three octal digits. */
  private static String octal(byte[] window) {
    StringBuilder text = new StringBuilder();
    for (byte each : window) {
      int value = Byte.toUnsignedInt(each);
      switch (value) {
        case '\n' -> text.append("\\n");
        case '\r' -> text.append("\\r");
        case '\t' -> text.append("\\t");
        case 7 -> text.append("\\a");
        case '\b' -> text.append("\\b");
        case '\f' -> text.append("\\f");
        case 11 -> text.append("\\v");
        case '\\' -> text.append("\\\\");
        case '\'' -> text.append("\\'");
        case '"' -> text.append("\\\"");
        default -> {
          if (value >= ' ' && value < 127) {
            text.append((char) value);
          } else {
            text.append("\\%03o".formatted(value));
          }
        }
      }
    }
    return text.toString();
  }
}
