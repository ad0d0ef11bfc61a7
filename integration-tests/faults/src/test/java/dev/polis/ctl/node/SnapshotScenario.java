package dev.polis.ctl.node;

import com.google.protobuf.ByteString;
import dev.polis.base.digest.Sha256;
import dev.polis.fixtures.power.PowerScenario;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** Saves two snapshots of etcd, with the code of the operator's command. */
final class SnapshotScenario implements PowerScenario {

  private static final int BYTES = 100_000;

  @Override
  public List<Step> steps() {
    return List.of(root -> save(root, "one"), root -> save(root, "two"));
  }

  private static Path file(Path root, String name) {
    return root.resolve(name + ".db");
  }

  private static void save(Path root, String name) {
    byte[] database = new byte[BYTES];
    Arrays.fill(database, (byte) name.charAt(0));
    try (EtcdSnapshotFile file = new EtcdSnapshotFile(file(root, name))) {
      file.write(ByteString.copyFrom(database));
      file.write(ByteString.copyFrom(Sha256.begin().digest(database)));
      file.finish();
    }
  }

  /** Requires that each snapshot under its final name is whole. */
  @Override
  public String observe(Path root) {
    return seen(root, "one") + ", " + seen(root, "two");
  }

  private static String seen(Path root, String name) {
    Path file = file(root, name);
    return Files.exists(file) ? EtcdSnapshotFile.check(file) : "no snapshot " + name;
  }
}
