package dev.polis.storage.slots;

import dev.polis.api.storage.Sealer;
import dev.polis.files.AtomicFile;
import dev.polis.files.AtomicFile.Durability;
import dev.polis.files.Mode;
import dev.polis.fixtures.BootFiles;
import dev.polis.fixtures.power.PowerScenario;
import dev.polis.logtree.LogTree;
import dev.polis.process.Commands;
import dev.polis.wire.system.InstallChoice;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** Installs systems into the slot that does not run, twice. */
final class SlotsScenario implements PowerScenario {

  private static final int SYSTEM_BYTES = 300_000;

  /** Seals for each boot. */
  private static final class Open implements Sealer {
    @Override
    public String name() {
      return Sealer.NONE;
    }

    @Override
    public byte[] seal(byte[] plain) {
      return plain;
    }

    @Override
    public byte[] unseal(byte[] sealed) {
      return sealed;
    }

    @Override
    public void alsoFor(Path booted, Path next) {
      // There is nothing to seal.
    }
  }

  /** Leaves the ESP writable: a remount would write out what an install has not forced. */
  private static final class NoRemount extends Commands {
    @Override
    public Result run(Duration within, List<String> command, byte[] input) {
      return new Result(command, 0, "");
    }
  }

  /** The ESP and the system's partition are not one file system. */
  @Override
  public List<String> apart() {
    return List.of("esp", "disk");
  }

  @Override
  public List<Step> steps() {
    return List.of(SlotsScenario::machine, root -> install(root, 2), root -> install(root, 3));
  }

  private static void machine(Path root) throws IOException {
    AtomicFile.makeDirectory(
        root.resolve("esp/EFI/Linux"), Mode.PRIVATE_DIRECTORY, Durability.POWER_LOSS);
    write(root.resolve("esp/EFI/Linux/polis-00000001-a.efi"), BootFiles.of('a', "1"));
    write(root.resolve("disk/system"), new byte[SYSTEM_BYTES]);
    Files.createSymbolicLink(root.resolve("other"), Path.of("disk/system"));
    write(root.resolve("running"), "a 1".getBytes());
  }

  private static void write(Path file, byte[] content) throws IOException {
    AtomicFile.replace(file, content, Mode.SECRET, Durability.POWER_LOSS);
  }

  private static byte[] system(int version) {
    byte[] content = new byte[SYSTEM_BYTES];
    Arrays.fill(content, (byte) version);
    return content;
  }

  private static void install(Path root, int version) throws Exception {
    byte[] update = BootFiles.update("" + version, system(version));
    new Slots(root, new NoRemount(), new Open(), () -> {}, LogTree.create().log("slots"))
        .install(
            new ByteArrayInputStream(update),
            InstallChoice.newBuilder().setBytes(update.length).setTries(3).build());
  }

  @Override
  public String observe(Path root) throws Exception {
    if (!Files.exists(root.resolve("running"))) {
      return "no machine";
    }
    StringBuilder found = new StringBuilder("boots");
    try (Stream<Path> files = Files.list(root.resolve("esp/EFI/Linux"))) {
      for (Path file : files.sorted().toList()) {
        String version;
        try (BootFile boot = BootFile.read(file)) {
          version = boot.parameter("polis.version").orElseThrow();
        }
        found.append(' ').append(file.getFileName()).append(" with ").append(version);
        if (!version.equals("1")
            && !Arrays.equals(
                system(Integer.parseInt(version)), Files.readAllBytes(root.resolve("other")))) {
          found.append(", whose system is torn");
        }
      }
    }
    return found.toString();
  }

  /** Allows that the other slot has nothing to boot while it is written. */
  @Override
  public boolean underWay(String observed) {
    return observed.equals("boots polis-00000001-a.efi with 1");
  }
}
