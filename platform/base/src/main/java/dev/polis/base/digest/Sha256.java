package dev.polis.base.digest;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Computes SHA-256. Stateless; safe for any thread. */
public final class Sha256 {
  // An executable's notes are in its first page or two.
  private static final int PROGRAM_BYTES = 64 << 10;

  private Sha256() {}

  /** Returns a digest that has read nothing yet; its owner is one thread. */
  public static MessageDigest begin() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java runtime has SHA-256", e);
    }
  }

  /** Returns the digest of bytes, in hexadecimal. */
  public static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(begin().digest(bytes));
  }

  /**
   * Returns the digest, in hexadecimal, of the length and the beginning of a program. It
   * distinguishes builds under the same path. The beginning has the build id, which Go's linker
   * computes from the whole program. A read of the rest of etcd would take longer than any other
   * step to HOME.
   *
   * @throws IOException if the program cannot be read
   */
  public static String ofProgram(Path program) throws IOException {
    MessageDigest sha = begin();
    try (InputStream content = Files.newInputStream(program)) {
      sha.update(ByteBuffer.allocate(Long.BYTES).putLong(Files.size(program)).flip());
      return HexFormat.of().formatHex(sha.digest(content.readNBytes(PROGRAM_BYTES)));
    }
  }
}
