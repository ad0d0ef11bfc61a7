package dev.polis.kubernetes.address;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.files.FolderPlacement;
import dev.polis.files.layout.Root;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Claims an address with an nft that fails as it does without root. */
class HostAddressClaimTest {

  private static final InetAddress ADDRESS = InetAddress.ofLiteral("198.19.249.1");

  @TempDir Path directory;

  @Test
  @DisplayName(
      "an address whose rules were refused is not claimed, so that nothing needs a release")
  void refused() throws Exception {
    Path programs = directory.resolve("programs");
    Path nft = Files.createDirectories(programs.resolve("root/usr/sbin")).resolve("nft");
    Files.writeString(nft, "#!/bin/sh\necho Operation not permitted\nexit 1\n");
    Files.setPosixFilePermissions(nft, PosixFilePermissions.fromString("rwxr-xr-x"));
    FolderPlacement folder = Root.at(directory).data().organFolder(HostAddress.FOLDER);
    folder.create();
    HostAddress host = new HostAddress(folder, ADDRESS, programs);

    String refusal = host.claim("role").orElse("");

    assertTrue(refusal.contains("Operation not permitted"), refusal);
    assertEquals(List.of(), folder.list());
    assertEquals(Optional.empty(), host.release("role"));
  }
}
