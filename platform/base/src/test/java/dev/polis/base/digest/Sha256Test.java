package dev.polis.base.digest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class Sha256Test {
  private static final String ABC =
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

  @TempDir Path directory;

  private String program(byte[] content) throws IOException {
    return Sha256.ofProgram(Files.write(directory.resolve("program"), content));
  }

  @Test
  @DisplayName("the digest of \"abc\" is that of FIPS 180, at once and in parts")
  void vector() {
    assertEquals(ABC, Sha256.hex("abc".getBytes(StandardCharsets.US_ASCII)));
    var parts = Sha256.begin();
    parts.update((byte) 'a');
    byte[] rest = "bc".getBytes(StandardCharsets.US_ASCII);
    assertEquals(ABC, HexFormat.of().formatHex(parts.digest(rest)));
  }

  @Test
  @DisplayName("a program's digest is of its length and its first 64 KiB")
  void program() throws Exception {
    byte[] content = new byte[100_000];
    String before = program(content);
    assertEquals(before, program(content));
    assertNotEquals(before, program(Arrays.copyOf(content, content.length + 1)));
    content[(64 << 10) - 1] = 1;
    assertNotEquals(before, program(content));
    content[(64 << 10) - 1] = 0;
    content[64 << 10] = 1;
    assertEquals(before, program(content));
  }

  @Test
  @DisplayName("a program that is not there has no digest")
  void noProgram() {
    assertThrows(
        NoSuchFileException.class, () -> Sha256.ofProgram(directory.resolve("no-program")));
  }
}
