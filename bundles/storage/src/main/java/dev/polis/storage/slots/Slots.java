package dev.polis.storage.slots;

import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.base.digest.Sha256;
import dev.polis.base.posix.Mounts;
import dev.polis.files.AtomicFile;
import dev.polis.files.FileException;
import dev.polis.health.HealthCondition;
import dev.polis.logtree.Log;
import dev.polis.process.Commands;
import dev.polis.rpc.RpcException;
import dev.polis.wire.system.GetSystemResponse;
import dev.polis.wire.system.InstallChoice;
import dev.polis.wire.system.InstallResponse;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Knows the two slots for a system on the disk of this machine, and writes the one that does not
 * run. The machine's scripts describe them in a folder: {@code running} has the slot and the
 * version, {@code esp} and {@code other} are links to the mounted ESP and the other partition.
 */
public final class Slots {

  private static final Pattern NAME =
      Pattern.compile("polis-([0-9]{8})-([ab])(\\+[0-9]+(-[0-9]+)?)?\\.efi");

  private static final String ARCHITECTURE = "amd64";
  private static final int BLOCK = 1 << 20;
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  // One digit in the name of a boot file.
  private static final int MOST_TRIES = 9;

  /** Seals again all that this machine has sealed. */
  @FunctionalInterface
  public interface Reseal {
    void run() throws FileException;
  }

  /** A boot file on the ESP. */
  private record Entry(Path file, int number, char slot, String count) {
    boolean trial() {
      return !count.isEmpty();
    }

    boolean givenUp() {
      return count.startsWith("+0");
    }
  }

  private final Path folder;
  private final Commands commands;
  private final Sealer sealer;
  private final Reseal reseal;
  private final Log log;

  /**
   * @param folder the description of the slots
   * @param sealer learns of the next boot, so that it can unseal there
   */
  public Slots(Path folder, Commands commands, Sealer sealer, Reseal reseal, Log log) {
    this.folder = folder;
    this.commands = commands;
    this.sealer = sealer;
    this.reseal = reseal;
    this.log = log;
  }

  private String[] running() throws IOException {
    String[] words = Files.readString(folder.resolve("running")).strip().split(" ");
    if (words.length != 2 || !words[0].matches("[ab]")) {
      throw new IOException(
          "%s names no slot and version: %s; boot an image that \"./polis image build\" made"
              .formatted(folder.resolve("running"), Arrays.toString(words)));
    }
    return words;
  }

  private char slot() throws IOException {
    return running()[0].charAt(0);
  }

  private char other() throws IOException {
    return slot() == 'a' ? 'b' : 'a';
  }

  private Path bootFiles() {
    return folder.resolve("esp/EFI/Linux");
  }

  /**
   * Returns the place of a boot file that is not in use yet. It is in a folder that the check of
   * the ESP reads last: if a loss of power leaves both names of a rename, the loader's one stays.
   */
  private Path staged() {
    return folder.resolve("esp/polis/next");
  }

  /** Returns the boot file that the loader prefers among those of a slot. */
  private Optional<Entry> entry(char slot) throws IOException {
    return entries().stream()
        .filter(entry -> entry.slot() == slot)
        .max(Comparator.comparingInt(Entry::number));
  }

  private List<Entry> entries() throws IOException {
    try (Stream<Path> files = Files.list(bootFiles())) {
      return files.flatMap(file -> entryOf(file).stream()).toList();
    }
  }

  private static Optional<Entry> entryOf(Path file) {
    Matcher name = NAME.matcher(file.getFileName().toString());
    return name.matches()
        ? Optional.of(
            new Entry(
                file,
                Integer.parseInt(name.group(1)),
                name.group(2).charAt(0),
                Optional.ofNullable(name.group(3)).orElse("")))
        : Optional.empty();
  }

  /** Returns what the slots hold. */
  GetSystemResponse describe() throws IOException {
    GetSystemResponse.Builder answer =
        GetSystemResponse.newBuilder()
            .setSlot(running()[0])
            .setVersion(running()[1])
            .setTrial(entry(slot()).filter(Entry::trial).isPresent());
    Optional<Entry> other = entry(other());
    if (other.isPresent()) {
      answer
          .setOtherBoots(!other.get().givenUp())
          .setOtherFailed(other.get().givenUp())
          .setOtherVersion(version(other.get()));
    }
    return answer.build();
  }

  /** Returns the version in a boot file, which a loss of power or the disk may have damaged. */
  private String version(Entry entry) {
    try (BootFile file = BootFile.read(entry.file())) {
      return file.parameter("polis.version").orElse("unknown");
    } catch (IOException e) {
      log.v(1).info("The version in slot %s is unknown: %s", entry.slot(), e.getMessage());
      return "unknown";
    }
  }

  /** Reports an update that the machine has given up. */
  public Optional<HealthCondition> look() throws IOException {
    Optional<Entry> failed = entry(other()).filter(Entry::givenUp);
    if (failed.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        HealthCondition.degraded(
            "update-failed",
            "the system %s in slot %s did not become HOME and was given up; slot %s runs, with %s"
                .formatted(version(failed.get()), failed.get().slot(), slot(), running()[1]),
            "read the console of that boot, and install a repaired one: polisctl node update FILE"));
  }

  /**
   * Refuses that the TPM seals for the present boot alone while it is on trial: the former system
   * could not unseal any more. The former boot file, which anyone with the disk changes, is no
   * ground for sealing for its boot, too.
   */
  public void requireSettled() throws FileException {
    if (returnsToFormer()) {
      throw new StorageException(
          Refusal.UNSUPPORTED,
          "the running system is on trial, and a recovery would lock out the former one, to which this machine returns if the trial fails",
          "wait for the end of the trial; if the TPM does not unseal for the former system either, give the recovery key to that one");
    }
  }

  private boolean returnsToFormer() {
    try {
      return entry(slot()).filter(Entry::trial).isPresent()
          && entry(other()).filter(file -> !file.givenUp()).isPresent();
    } catch (IOException e) {
      log.warning("The slots cannot be read before a recovery: %s", e.getMessage());
      return false;
    }
  }

  /**
   * Installs a system. What runs, and what boots until this has returned, stays as it is.
   *
   * @param update an update file
   * @throws RpcException with the reason, if this file is not installed here
   */
  InstallResponse install(InputStream update, InstallChoice choice)
      throws IOException, InterruptedException {
    UpdateManifest manifest = UpdateManifest.read(update);
    requirePossible(manifest, choice);
    char slot = other();
    Entry booted =
        entry(slot())
            .orElseThrow(
                () ->
                    RpcException.failedPrecondition(
                        "the ESP has no boot file of the running system; boot the other slot, or install the image again"));
    writable(true);
    try {
      Files.createDirectories(staged().getParent());
      Files.deleteIfExists(staged());
      for (char each : new char[] {'a', 'b'}) {
        Path target = each == slot ? staged() : Path.of("/dev/null");
        receive(update, manifest, UpdateManifest.boot(each), target);
      }
      requireBootFile(manifest, slot, booted.file());
      sealer.alsoFor(booted.file(), staged());
      reseal.run();
      // Until the new one is whole, the loader must not start what the partition loses now.
      for (Entry former : entries()) {
        if (former.slot() == slot) {
          Files.delete(former.file());
        }
      }
      forceNames();
      receive(update, manifest, UpdateManifest.SYSTEM, folder.resolve("other"));
      int number = entries().stream().mapToInt(Entry::number).max().orElse(0) + 1;
      Files.move(
          staged(),
          bootFiles().resolve("polis-%08d-%c+%d.efi".formatted(number, slot, choice.getTries())),
          StandardCopyOption.ATOMIC_MOVE);
      forceNames();
    } finally {
      cleanUp();
    }
    return InstallResponse.newBuilder().setSlot("" + slot).setVersion(manifest.version()).build();
  }

  /**
   * Protects the ESP again, also when the caller has gone, which interrupts this thread. What the
   * installation has come to is decided by now.
   */
  private void cleanUp() {
    boolean interrupted = Thread.interrupted();
    try {
      try {
        Files.deleteIfExists(staged());
      } finally {
        writable(false);
      }
    } catch (IOException e) {
      log.error("After an update the ESP stays writable or full: %s; reboot", e.getMessage());
    } catch (InterruptedException e) {
      log.error("After an update the ESP stays writable; reboot");
      interrupted = true;
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Turns the next power-off into a reboot. */
  void reboot() {
    try {
      Files.writeString(folder.resolve("reboot"), "");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void forceNames() throws IOException {
    AtomicFile.force(bootFiles());
  }

  private void requirePossible(UpdateManifest manifest, InstallChoice choice) throws IOException {
    if (choice.getTries() < 1 || choice.getTries() > MOST_TRIES) {
      throw RpcException.invalid(
          "tries is %d; give 1 to %d".formatted(choice.getTries(), MOST_TRIES));
    }
    if (choice.getBytes() != manifest.total()) {
      throw RpcException.invalid(
          "the update file has %d bytes, and its parts need %d: it was truncated or changed; copy it again; nothing was changed"
              .formatted(choice.getBytes(), manifest.total()));
    }
    if (!manifest.architecture().equals(ARCHITECTURE)) {
      throw RpcException.failedPrecondition(
          "the update is for \"%s\", this machine is \"%s\"; nothing was changed"
              .formatted(manifest.architecture(), ARCHITECTURE));
    }
    if (entry(slot()).filter(Entry::trial).isPresent()) {
      throw RpcException.failedPrecondition(
          "the running system is still on trial, and the other slot is what boots if it fails; wait until the node is HOME; nothing was changed");
    }
    String running = running()[1];
    if (compare(manifest.version(), running) < 0 && !choice.getAllowDowngrade()) {
      throw RpcException.failedPrecondition(
          "version %s is older than the running %s, which may have written state that it does not read; --downgrade installs it all the same; nothing was changed"
              .formatted(manifest.version(), running));
    }
    long room = size(folder.resolve("other"));
    long needed = manifest.parts().get(UpdateManifest.SYSTEM).bytes();
    if (needed > room) {
      throw RpcException.failedPrecondition(
          "the system has %d bytes, a slot of this disk %d; install the image on a larger layout; nothing was changed"
              .formatted(needed, room));
    }
    long boot = manifest.parts().get(UpdateManifest.boot(other())).bytes();
    long free = Files.getFileStore(bootFiles()).getUsableSpace();
    if (boot > free) {
      throw RpcException.failedPrecondition(
          "the boot file has %d bytes, the ESP has %d left; nothing was changed"
              .formatted(boot, free));
    }
  }

  private void requireBootFile(UpdateManifest manifest, char slot, Path booted) throws IOException {
    try (BootFile present = BootFile.read(booted);
        BootFile next = BootFile.read(staged())) {
      String of = next.parameter("polis.slot").orElse("none");
      String version = next.parameter("polis.version").orElse("none");
      if (!of.equals("" + slot) || !version.equals(manifest.version())) {
        throw RpcException.invalid(
            "the boot file in the update is for slot %s and version %s, not for slot %s and %s; nothing was changed"
                .formatted(of, version, slot, manifest.version()));
      }
      requireSameSigner(present, next);
    }
  }

  /**
   * Refuses a boot file that Secure Boot would not start, and one that would give its keys to a
   * firmware without any: the former system would not start any more.
   */
  private static void requireSameSigner(BootFile present, BootFile next) throws IOException {
    Set<Certificate> before = present.signers();
    Set<Certificate> after = next.signers();
    if (!before.equals(after)) {
      throw RpcException.failedPrecondition(
          "the boot file of this machine is %s, that of the update is %s; build the update %s; nothing was changed"
              .formatted(
                  signature(before, "signed"),
                  signature(after, before.isEmpty() ? "signed" : "signed by another key"),
                  before.isEmpty()
                      ? "without --secure-boot-keys, or install a signed image"
                      : "with the keys of this machine: image build --secure-boot-keys"));
    }
  }

  private static String signature(Set<Certificate> signers, String signed) {
    return signers.isEmpty() ? "not signed" : signed;
  }

  /** Compares dotted numbers; a missing one is 0. */
  static int compare(String left, String right) {
    int[] one = numbers(left);
    int[] two = numbers(right);
    int most = Math.max(one.length, two.length);
    return Arrays.compare(Arrays.copyOf(one, most), Arrays.copyOf(two, most));
  }

  private static int[] numbers(String version) {
    return Stream.of(version.split("\\."))
        .mapToInt(part -> part.matches("[0-9]{1,9}") ? Integer.parseInt(part) : 0)
        .toArray();
  }

  /** Returns the size of a file or a partition. */
  private static long size(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file)) {
      return channel.size();
    }
  }

  /** Writes a part to the disk, and checks its digest. */
  private static void receive(InputStream update, UpdateManifest manifest, String name, Path target)
      throws IOException {
    UpdateManifest.Part part = manifest.parts().get(name);
    MessageDigest digest = Sha256.begin();
    try (FileChannel channel =
        FileChannel.open(target, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      byte[] block = new byte[BLOCK];
      for (long rest = part.bytes(); rest > 0; ) {
        int read = update.readNBytes(block, 0, (int) Math.min(BLOCK, rest));
        if (read == 0) {
          throw new EOFException(
              "the caller ended %d bytes before the end of \"%s\"".formatted(rest, name));
        }
        digest.update(block, 0, read);
        ByteBuffer bytes = ByteBuffer.wrap(block, 0, read);
        while (bytes.hasRemaining()) {
          channel.write(bytes);
        }
        rest -= read;
      }
      if (!target.startsWith("/dev/null")) {
        channel.force(true);
      }
    }
    String found = HexFormat.of().formatHex(digest.digest());
    if (!found.equals(part.sha256())) {
      throw RpcException.invalid(
          "the part \"%s\" has the SHA-256 %s, and the update file promises %s: it was damaged; copy it again; what runs was not changed"
              .formatted(name, found, part.sha256()));
    }
  }

  /** Makes the ESP writable for an update; outside of updates nothing can damage it. */
  private void writable(boolean writes) throws IOException, InterruptedException {
    Path esp = folder.resolve("esp").toRealPath();
    if (Mounts.at(esp).isEmpty()) {
      return;
    }
    Commands.Result mounted =
        commands.run(
            PATIENCE, List.of("mount", "-o", writes ? "remount,rw" : "remount,ro", esp.toString()));
    if (!mounted.ok()) {
      throw new IOException("cannot remount the ESP: " + mounted.words());
    }
  }
}
