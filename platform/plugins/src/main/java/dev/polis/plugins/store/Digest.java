package dev.polis.plugins.store;

import dev.polis.base.digest.Sha256;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * Holds a SHA-256 digest.
 *
 * @param hex 64 hexadecimal digits in lower case
 */
public record Digest(String hex) {
  private static final Pattern FORM = Pattern.compile("[0-9a-f]{64}");

  /**
   * The bytes of a read: large enough that the disk dominates the cost, and small enough for the
   * cache of a core.
   */
  private static final int BUFFER_BYTES = 64 * 1024;

  /**
   * @throws IllegalArgumentException if {@code hex} is not 64 hexadecimal digits in lower case
   */
  public Digest {
    Objects.requireNonNull(hex, "hex");
    if (!FORM.matcher(hex).matches()) {
      throw new IllegalArgumentException(
          "\"" + hex + "\" is no SHA-256 digest: 64 digits of 0-9a-f are");
    }
  }

  /**
   * @param bytes any bytes
   * @return their digest
   */
  public static Digest of(byte[] bytes) {
    return new Digest(Sha256.hex(bytes));
  }

  /**
   * @param file a readable file
   * @return the digest of its content
   * @throws IOException if it can not be read
   */
  public static Digest of(Path file) throws IOException {
    MessageDigest algorithm = Sha256.begin();
    try (InputStream in = Files.newInputStream(file)) {
      byte[] buffer = new byte[BUFFER_BYTES];
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        algorithm.update(buffer, 0, n);
      }
    }
    return new Digest(HexFormat.of().formatHex(algorithm.digest()));
  }

  @Override
  public String toString() {
    return hex;
  }
}
