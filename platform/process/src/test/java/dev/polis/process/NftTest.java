package dev.polis.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NftTest {

  @TempDir private Path programs;

  @Test
  @DisplayName("nft is called with its libraries where it was unpacked, and else as the machine's")
  void unpacked() throws Exception {
    assertEquals(List.of("nft", "-f", "-"), Nft.command(programs, "-f", "-"));

    Path nft = programs.resolve("root/usr/sbin/nft");
    Files.createDirectories(nft.getParent());
    Files.createFile(nft);
    assertEquals(List.of("nft"), Nft.command(programs), "it is not executable");

    nft.toFile().setExecutable(true);
    String libraries = "LD_LIBRARY_PATH=" + programs.resolve("root/usr/lib/x86_64-linux-gnu");
    assertEquals(List.of("env", libraries, nft.toString(), "x"), Nft.command(programs, "x"));
  }
}
