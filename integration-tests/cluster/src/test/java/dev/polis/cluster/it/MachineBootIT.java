package dev.polis.cluster.it;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.polis.fixtures.Await;
import dev.polis.fixtures.Finished;
import dev.polis.fixtures.LastLines;
import dev.polis.fixtures.Needs;
import dev.polis.fixtures.Slice;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Boots the image in a virtual machine with UEFI and a TPM. The machine is emulated where the
 * kernel's virtualization starts no ordinary kernel, and is ten to twenty times slower then, so all
 * waits are long. The short form boots a new machine to HOME and takes one of three lots: a loss of
 * power before, a stolen disk, or a lost boot file with the recovery key.
 */
@Tag("full")
@Tag("longer")
@Tag("beside")
@Timeout(value = 40, unit = TimeUnit.MINUTES)
class MachineBootIT {

  private static final Path REPOSITORY = Path.of(System.getProperty("polis.repository"));
  private static final Duration BUILD = Duration.ofMinutes(10);
  private static final Duration BOOT = Duration.ofMinutes(20);
  private static final Map<String, String> ENVIRONMENT = Map.of("POLIS_BUILD", "no");

  // The ESP begins at the first MiB of the disk.
  private static final long ESP_BEGIN = 1 << 20;
  private static final long ESP_BYTES = 128L << 20;
  private static final long SYSTEM_BEGIN = ESP_BEGIN + ESP_BYTES;
  // The place of EROFS's superblock, which each mount reads.
  private static final int SUPERBLOCK = 1024;

  /** Lets the keyboard reach what the kernel otherwise reserves to processes with rights. */
  private static final String SYSRQ = "sysrq_always_enabled=1";

  /** A start to HOME prints about as many. */
  private static final int SHOWN_LINES = 80;

  // The console's lines at which a first start loses its power, in the order of the start.
  private static final List<String> CUTS =
      List.of(
          "making the partition POLIS-STATE-NEW",
          "making the partition METROPOLIS-NODE-DATA",
          "making it, AUTHENTICATED_ENCRYPTED");

  private static final String POWER_LOSS = "a loss of power";
  private static final String THIEF = "another machine";
  private static final String RECOVERY = "the recovery key";

  private static final List<Machine> STARTED = new ArrayList<>();

  @TempDir static Path folder;
  private static Path image;

  @BeforeAll
  static void build() throws Exception {
    Needs.root("installing the programs of a virtual machine");
    image = folder.resolve("polis.img");
    String printed = polis("image", "build", "--to", image.toString());
    assertTrue(printed.matches("(?s)[0-9a-f]{64}  root hash of the system\\n.*"), printed);
  }

  /** Returns an image with another command line and a later version, built at its first use. */
  private static Path other() throws Exception {
    Path built = folder.resolve("other.img");
    if (!Files.exists(built)) {
      polis(
          "image",
          "build",
          "--to",
          built.toString(),
          "--command-line",
          "polis.other=1",
          "--version",
          "0.2.0");
    }
    return built;
  }

  @AfterEach
  void cutThoseThatStillRun() throws Exception {
    for (Machine machine : STARTED) {
      if (machine.process.isAlive()) {
        machine.cut();
      }
    }
  }

  private static String polis(String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of(REPOSITORY.resolve("polis").toString()));
    command.addAll(List.of(arguments));
    return Finished.of(command, ENVIRONMENT, BUILD).requireSuccess("polis image").out();
  }

  /** Runs a machine; its disk, its firmware's variables and its TPM are in a folder. */
  private record Machine(Path folder, Process process) {

    static Machine start(Path folder, String until, String... more) throws Exception {
      Files.createDirectories(folder);
      Files.deleteIfExists(folder.resolve("serial.log"));
      List<String> command =
          new ArrayList<>(
              List.of(
                  REPOSITORY.resolve("polis").toString(),
                  "image",
                  "run",
                  "--machine",
                  folder.toString(),
                  "--image",
                  image.toString(),
                  "--address",
                  "127.0.93.1",
                  "--disk",
                  "1960",
                  "--until",
                  until));
      command.addAll(List.of(more));
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(folder.resolve("run.log").toFile())
              .start();
      Machine machine = new Machine(folder, process);
      STARTED.add(machine);
      return machine;
    }

    private void awaitPid() throws Exception {
      Await.until("the process of the machine", () -> !pid().isEmpty() || !process.isAlive());
    }

    /** Returns the id of the machine's process; empty if there is none. */
    private String pid() throws IOException {
      Path file = folder.resolve("pid");
      return Files.exists(file) ? Files.readString(file).strip() : "";
    }

    String console() throws IOException {
      Path log = folder.resolve("serial.log");
      return Files.exists(log) ? new String(Files.readAllBytes(log), StandardCharsets.UTF_8) : "";
    }

    void await(String line) throws Exception {
      Await.until(
          BOOT,
          "a line with \"" + line + "\" on the console of " + folder,
          () -> console().contains(line) || !process.isAlive());
      shows(console(), line);
    }

    /** Presses a key at a terminal on the serial line. */
    void pressEnter() throws IOException {
      try (SocketChannel line =
          SocketChannel.open(UnixDomainSocketAddress.of(folder.resolve("serial")))) {
        line.write(ByteBuffer.wrap(new byte[] {'\n'}));
      }
    }

    /** Ends the machine as a loss of power does. */
    void cut() throws Exception {
      awaitPid();
      ProcessHandle.of(Long.parseLong(pid())).orElseThrow().destroyForcibly();
      assertTrue(process.waitFor(1, TimeUnit.MINUTES), "the command ends with its machine");
    }

    /** Presses keys of the machine's keyboard, such as {@code alt-sysrq-f}. */
    void press(String keys) throws IOException {
      Files.writeString(folder.resolve("monitor.in"), "sendkey " + keys + "\n");
    }

    /** Waits until a text has come a number of times. */
    void await(String text, int times) throws Exception {
      Await.until(
          BOOT,
          "\"%s\" %d times on the console of %s".formatted(text, times, folder),
          () -> console().split(Pattern.quote(text), -1).length > times || !process.isAlive());
      assertTrue(
          process.isAlive(),
          () ->
              "the machine ended before it showed \"%s\" %d times:\n%s"
                  .formatted(text, times, all()));
    }

    String ended() throws Exception {
      assertTrue(
          process.waitFor(BOOT.toMinutes(), TimeUnit.MINUTES),
          () -> "the machine did not end within " + BOOT + ":\n" + all());
      assertEquals(0, process.exitValue(), this::all);
      return console();
    }

    /** Returns the end of what the command printed, and of the console. */
    private String all() {
      try {
        return end(Files.readString(folder.resolve("run.log"))) + "\n" + end(console());
      } catch (IOException e) {
        return e.toString();
      }
    }
  }

  /** Requires a text on a console. */
  private static void shows(String console, String text) {
    assertTrue(
        console.contains(text),
        () -> "the console does not show \"" + text + "\":\n" + end(console));
  }

  /** Returns the last lines, which say how far a machine came. */
  private static String end(String console) {
    return LastLines.of(console, SHOWN_LINES);
  }

  @Test
  @DisplayName(
      "A machine comes from an empty disk to HOME, also after a loss of power, unlocks its disk by itself, refuses another boot file and another machine, and comes back with the recovery key")
  void life() throws Exception {
    Path home = folder.resolve("machine");
    List<String> lots = Slice.of(List.of(POWER_LOSS, THIEF, RECOVERY), 3);
    if (lots.contains(POWER_LOSS)) {
      for (String line : Slice.of(CUTS, CUTS.size())) {
        cutAt(home, line);
      }
    }

    String first = cutAt(home, "LUKS2 on dm-crypt and dm-integrity");
    shows(first, "HOME after");
    shows(first, "data volume: AUTHENTICATED_ENCRYPTED");
    shows(first, "the watchdog /dev/watchdog0 restarts this machine");
    shows(first, "answers no calls for 180 s");

    if (lots.contains(POWER_LOSS)) {
      opensByItself(home);
    }
    if (lots.contains(THIEF)) {
      refusesAnotherMachine(home.resolve("disk.img"));
    }
    if (lots.contains(RECOVERY)) {
      replaceBootFile(other(), home.resolve("disk.img"));
      cutAt(home, "PCR 11 (the boot file, which is kernel, initramfs and command line)");
      String key = home.resolve("owner/recovery-key.pem").toString();
      shows(cutAt(home, "\nHOME after", "--recovery-key", key), "✓ curator");
      opensByItself(home);
    }
  }

  /** Starts a machine, and takes its power at a text on its console. */
  private static String cutAt(Path folder, String text, String... more) throws Exception {
    Machine machine = Machine.start(folder, "a line that does not come", more);
    machine.await(text);
    machine.cut();
    return machine.console();
  }

  private static void refusesAnotherMachine(Path disk) throws Exception {
    Path stolen = Files.createDirectories(folder.resolve("stolen"));
    Files.copy(disk, stolen.resolve("disk.img"));
    Machine thief = Machine.start(stolen, "a line that does not come");
    thief.await("polis: the node's process ended with");
    thief.pressEnter();
    thief.await("r recovery key");
    thief.cut();
    shows(thief.console(), "the disk comes from another machine");
  }

  /**
   * Boots a machine to HOME, without the recovery key and with the volume of before, and switches
   * it off in order.
   */
  private static void opensByItself(Path machine) throws Exception {
    String console = Machine.start(machine, "HOME").ended();
    assertFalse(console.contains("making"), () -> "nothing is made twice: " + end(console));
    assertTrue(
        console.contains("✓ data volume") || console.contains("data volume ("),
        () -> "the data volume was not opened:\n" + end(console));
    shows(console, "✓ curator");
    shows(console, "polis: all file systems are clean");
    shows(console, "Power down");
  }

  @Test
  @Tag("long")
  @DisplayName(
      "A system with one changed byte does not start, and the console names the partition and the remedy")
  void changedSystem() throws Exception {
    Path machine = Files.createDirectories(folder.resolve("changed"));
    Path disk = Files.copy(image, machine.resolve("disk.img"));
    flip(disk, SYSTEM_BEGIN + SUPERBLOCK);
    String console = Machine.start(machine, "polis: next: start the other slot").ended();
    shows(console, "the system on /dev/vda2 cannot be mounted");
  }

  @Test
  @Tag("long")
  @DisplayName(
      "D-42 an update boots the other slot, where the TPM opens the node's data, and stays, also after a reboot by command; one with a changed byte is given up, and the running one boots by itself")
  void d42_update() throws Exception {
    Path home = folder.resolve("updated");
    Machine machine = Machine.start(home, "", "--on-reboot", "again");
    machine.await("✓ curator");
    String address = "127.0.93.1";
    ctl("context", "add", "machine", address);
    String key = home + "/owner/owner-key.pem";
    Await.until(
        BOOT,
        "the certificate of the machine's node at " + address,
        () -> finished("takeownership", "--owner-key", key).all().contains("--accept-ca "));
    String asked = finished("takeownership", "--owner-key", key).all();
    String fingerprint = asked.substring(asked.lastIndexOf("--accept-ca ")).split("\\s+")[1];
    ctl("takeownership", "--owner-key", key, "--accept-ca", fingerprint);
    String node = ctl("node", "list", "-o", "json");

    String updated = ctl("node", "update", sibling(other()));
    assertTrue(updated.contains("version 0.2.0 runs in slot b, and stays"), updated);
    assertEquals(
        id(node), id(ctl("node", "list", "-o", "json")), "the records are those of before");
    String rebooted = ctl("node", "reboot", "--wait", Long.toString(BOOT.toSeconds()));
    assertTrue(rebooted.contains("it answers again"), rebooted);
    assertFalse(machine.console().contains("recovery key:"), machine::all);

    Finished refused = finished("node", "update", sibling(image));
    assertTrue(refused.code() != 0 && refused.err().contains("--downgrade"), refused::toString);
    ctl("node", "update", "--downgrade", "--no-reboot", sibling(image));
    machine.cut();
    flip(home.resolve("disk.img"), SYSTEM_BEGIN + SUPERBLOCK);
    String console = Machine.start(home, "HOME", "--on-reboot", "again").ended();
    shows(console, "slot a is given up");
    shows(console, "polis: system: slot b, version 0.2.0");
    shows(console, "✓ curator");
  }

  private static void flip(Path disk, long position) throws IOException {
    try (FileChannel channel =
        FileChannel.open(disk, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      ByteBuffer one = ByteBuffer.allocate(1);
      channel.read(one, position);
      one.put(0, (byte) (one.get(0) ^ 1)).rewind();
      channel.write(one, position);
    }
  }

  private static Finished finished(String... arguments) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                REPOSITORY.resolve("polis").toString(),
                "ctl",
                "--config",
                folder.resolve("contexts").toString()));
    command.addAll(List.of(arguments));
    return Finished.of(command, ENVIRONMENT, BOOT.multipliedBy(2));
  }

  private static String ctl(String... arguments) throws Exception {
    return finished(arguments).requireSuccess("polis ctl " + List.of(arguments)).out();
  }

  private static String sibling(Path image) {
    return image.toString().replace(".img", ".update");
  }

  /** Returns the id of the only node in a list. */
  private static String id(String nodes) {
    return nodes.replaceAll("(?s).*\"id\": *\"([^\"]+)\".*", "$1");
  }

  @Test
  @Tag("attack")
  @Tag("long")
  @DisplayName(
      "A firmware takes the keys of Secure Boot from its first boot file, then starts only what they have signed, and says so of another boot file; the command line comes before a second disk; after a panic the next start says why")
  void secureBoot() throws Exception {
    Path signed = folder.resolve("signed.img");
    String keys = folder.resolve("keys").toString();
    // Two of the places for parameters; the base64 is that of an empty object.
    String line = SYSRQ + " polis.parameters=e30=";
    polis(
        "image",
        "build",
        "--to",
        signed.toString(),
        "--secure-boot-keys",
        keys,
        "--command-line",
        line);
    Path drive = drive("{}");
    Path machine = folder.resolve("secure");
    String[] secure = {
      "--image",
      signed.toString(),
      "--secure-boot",
      "on",
      "--parameters",
      "none",
      "--drive",
      drive.toString()
    };
    Machine first = Machine.start(machine, "HOME", secure);
    first.await("the firmware has taken the keys of this boot file");
    first.cut();

    // From the second start on, QEMU ends where the machine would restart.
    Machine enrolled = Machine.start(machine, "HOME", secure);
    enrolled.await("polis: Secure Boot: on");
    enrolled.await(
        "/run/polis/drive/parameters.json is not read, because /run/polis/command-line/parameters.json comes first");
    enrolled.press("alt-sysrq-c");
    enrolled.ended();
    Machine after = Machine.start(machine, "HOME", secure);
    after.await("kernel failed: Kernel panic - not syncing: sysrq triggered crash");
    after.cut();

    replaceBootFile(other(), machine.resolve("disk.img"));
    Machine unsigned = Machine.start(machine, "HOME", secure);
    unsigned.await("Access Denied");
    unsigned.cut();

    Path foreign = folder.resolve("foreign.img");
    String others = folder.resolve("other-keys").toString();
    polis("image", "build", "--to", foreign.toString(), "--secure-boot-keys", others);
    replaceBootFile(foreign, machine.resolve("disk.img"));
    Machine mismatched = Machine.start(machine, "HOME", secure);
    mismatched.await("Access Denied");
    mismatched.cut();
  }

  @Test
  @Tag("long")
  @Timeout(value = 3, unit = TimeUnit.HOURS)
  @DisplayName(
      "A node whose process the kernel ends twenty times for want of memory is started each time, and is HOME again")
  void killed() throws Exception {
    Path image = folder.resolve("keys.img");
    polis("image", "build", "--to", image.toString(), "--command-line", SYSRQ);
    Machine machine =
        Machine.start(folder.resolve("killed"), "nothing", "--image", image.toString());
    int kills = 0;
    for (int home = 1; home <= 3; home++) {
      machine.await("\nHOME", home);
      for (int kill = 0; kill < 7; kill++) {
        kills++;
        // The kernel ends the largest process, as it does when memory runs out.
        machine.press("alt-sysrq-f");
        machine.await("the node's process ended with 137", kills);
        machine.await("the last run crashed", kills);
      }
    }
    machine.await("\nHOME", 4);
    assertTrue(machine.console().contains("RECOVERY: the node's process ended 5 times"), "a page");
    machine.cut();
  }

  /** Makes a disk with node parameters. */
  private static Path drive(String parameters) throws Exception {
    Path json = Files.writeString(folder.resolve("parameters.json"), parameters);
    String disk = folder.resolve("drive.img").toString();
    // In KiB: VFAT begins at some hundred.
    run("mkfs.vfat", "-n", "POLIS-CONF", "-C", disk, "2048");
    run("mcopy", "-i", disk, json.toString(), "::/parameters.json");
    return Path.of(disk);
  }

  private static void run(String... command) throws Exception {
    Finished.of(List.of(command), Map.of("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), BUILD)
        .requireSuccess(command[0]);
  }

  /** Writes the boot files of an image to a disk. */
  private static void replaceBootFile(Path image, Path disk) throws IOException {
    try (FileChannel from = FileChannel.open(image, StandardOpenOption.READ);
        FileChannel to = FileChannel.open(disk, StandardOpenOption.WRITE)) {
      to.position(ESP_BEGIN);
      assertEquals(ESP_BYTES, from.transferTo(ESP_BEGIN, ESP_BYTES, to));
    }
  }
}
