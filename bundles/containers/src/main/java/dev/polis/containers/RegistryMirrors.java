package dev.polis.containers;

import dev.polis.files.DirectoryPlacement;
import dev.polis.files.FileTree;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.SortedMap;

/** Writes containerd's configuration of registries; containerd reads it again for each pull. */
final class RegistryMirrors {

  private static final String FILE = "hosts.toml";

  private RegistryMirrors() {}

  /** Writes exactly this content to a folder. */
  static void write(SortedMap<String, URI> mirrors, DirectoryPlacement folder) throws IOException {
    folder.create();
    for (String there : folder.list()) {
      if (!mirrors.containsKey(there)) {
        FileTree.delete(folder.path().resolve(there));
      }
    }
    for (Map.Entry<String, URI> each : mirrors.entrySet()) {
      Path file = folder.path().resolve(each.getKey()).resolve(FILE);
      Files.createDirectories(file.getParent());
      String text = RuntimeConfiguration.mirror(each.getValue());
      if (!Files.exists(file) || !Files.readString(file).equals(text)) {
        Files.writeString(file, text);
      }
    }
  }
}
