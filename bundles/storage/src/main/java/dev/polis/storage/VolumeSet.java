package dev.polis.storage;

import dev.polis.api.storage.Root;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageSecurity;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * All ways to hold a volume this program knows, in order of preference: the kernel's first where it
 * has device-mapper.
 */
final class VolumeSet {

  // 64 bits of the digest of the state directory: several nodes on one machine do not share a name.
  private static final int NAME_BYTES = 8;

  private VolumeSet() {}

  static List<Volume> of(
      Root root, long size, Path device, VolumeTools tools, VolumeDaemons daemons)
      throws StorageException {
    String name = name(root.path());
    Path key = VolumeKeyFile.place(name);
    List<Volume> kernel =
        List.of(
            new VolumeLuksMapper(
                StorageSecurity.ENCRYPTED, root, device, "polis-" + name, size, tools),
            new VolumeLuksMapper(
                StorageSecurity.AUTHENTICATED_ENCRYPTED,
                root,
                device,
                "polis-" + name,
                size,
                tools));
    List<Volume> userSpace =
        List.of(
            new VolumeLuksFuse(root, size, key, tools, daemons),
            new VolumeGocryptfs(root, key, tools, daemons));
    List<Volume> all = new ArrayList<>(List.of(new VolumePlain(root)));
    all.addAll(kernel);
    all.addAll(userSpace);
    return List.copyOf(all);
  }

  private static String name(Path root) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256")
              .digest(root.toString().getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, NAME_BYTES);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
  }
}
