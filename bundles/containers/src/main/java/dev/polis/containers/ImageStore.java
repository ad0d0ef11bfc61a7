package dev.polis.containers;

import dev.polis.api.containers.ContainersException;
import dev.polis.api.containers.Sandbox;
import dev.polis.process.Commands;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Scanner;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;

/** Loads images into a running containerd and lists them, with containerd's own tool ctr. */
final class ImageStore {

  /** The namespace of CRI in containerd. */
  private static final String NAMESPACE = "k8s.io";

  /** The time for an answer of containerd, which takes 50 ms, on a machine under load. */
  private static final Duration ANSWER = Duration.ofSeconds(30);

  /** The time for an import: a GiB takes half a minute, and a slow disk gets twenty times that. */
  private static final Duration IMPORT = Duration.ofMinutes(10);

  /** The room that stays for all other data on the volume: etcd, logs, the node's own files. */
  private static final long RESERVE = 256L << 20;

  /** The reserve of inodes, as many as ext4 has for these bytes. */
  private static final long INODES_RESERVE = RESERVE >> 14;

  /** The largest unpacked archive; the largest images, of machine learning, have half of it. */
  private static final long MOST_UNPACKED = 32L << 30;

  /** The most archives that may arrive at the same time, each of which needs a thread and room. */
  static final int UPLOADS = 16;

  private static final int CHUNK = 1 << 20;

  private static final DiskSpace ANY = new DiskSpace(Long.MAX_VALUE, Long.MAX_VALUE);

  private final Sandbox sandbox;
  private final Path ctr;
  private final ContainersFiles files;
  private final Loading loading;

  /** Limits the archives that the node loads at the same time. */
  record Loading(Semaphore uploads, ReentrantLock imports, SpaceClaims claims) {
    Loading() {
      this(new SpaceClaims());
    }

    Loading(SpaceClaims claims) {
      this(new Semaphore(UPLOADS), new ReentrantLock(), claims);
    }
  }

  /**
   * @param files with the folder in which an archive lies while it is taken in, and containerd's
   * @param loading of all stores of this node
   */
  ImageStore(Sandbox sandbox, Path ctr, ContainersFiles files, Loading loading) {
    this.sandbox = sandbox;
    this.ctr = ctr;
    this.files = files;
    this.loading = loading;
  }

  /** Returns the names of the images, sorted; not the digests that each has as a name too. */
  List<String> list() throws InterruptedException {
    Commands.Result said = ctr(ANSWER, List.of("images", "ls", "-q"));
    if (!said.ok()) {
      throw new ContainersException("containerd does not list its images: " + said.words());
    }
    return said.output()
        .lines()
        .map(String::strip)
        // Warnings of ctr stand in between; names have no blanks.
        .filter(name -> !name.isEmpty() && !name.contains(" ") && !name.startsWith("sha256:"))
        .sorted()
        .toList();
  }

  /**
   * Refuses a containerd without its CRI part, which containerd omits after a fault in its
   * configuration.
   *
   * @throws ContainersException naming the part
   */
  void requireCri() throws InterruptedException {
    Commands.Result said = ctr(ANSWER, List.of("plugins", "ls"));
    if (!said.ok()) {
      throw new ContainersException("containerd does not list its plugins: " + said.words());
    }
    requireCri(said.output());
  }

  static void requireCri(String plugins) {
    for (String line : plugins.lines().toList()) {
      List<String> words = List.of(line.strip().split("\\s+"));
      boolean cri =
          words.getFirst().contains(".cri.") || words.size() > 1 && words.get(1).equals("cri");
      if (cri && !words.getLast().equals("ok")) {
        throw new ContainersException(
            "containerd runs without its plugin %s, which is in state \"%s\""
                .formatted(String.join(" ", words.subList(0, 2)), words.getLast()));
      }
    }
  }

  /**
   * Loads the images of an archive; returns their names. A slow archive delays no other one: the
   * store imports only complete archives, one after the other.
   */
  List<String> load(InputStream in) throws IOException, InterruptedException {
    if (!loading.uploads().tryAcquire()) {
      throw new ContainersException(
          "the node already loads %d archives of images; send this one again when it has finished one"
              .formatted(UPLOADS));
    }
    try (SpaceClaims.Claim claim = loading.claims().begin()) {
      Path archive = Files.createTempFile(files.archives().path(), "", ".tar");
      try {
        store(in, archive, claim);
        return load(archive, claim);
      } finally {
        Files.deleteIfExists(archive);
      }
    } finally {
      loading.uploads().release();
    }
  }

  private List<String> load(Path archive, SpaceClaims.Claim claim)
      throws IOException, InterruptedException {
    loading.imports().lockInterruptibly();
    try {
      DiskSpace free = free();
      DiskSpace reserve =
          new DiskSpace(RESERVE, free.inodes() == Long.MAX_VALUE ? 0 : INODES_RESERVE);
      ImageArchive.Contents contents =
          ImageArchive.read(archive, room(claim.left(archive, free).minus(reserve)));
      if (!claim.grow(contents.space(), archive, free(), reserve)) {
        throw new ContainersException(
            "unpacked, the archive and its layers take %d MiB, for which other archives that arrive leave no room; remove images, enlarge the volume, or send it again after them"
                .formatted(contents.space().bytes() >> 20));
      }
      Commands.Result said = ctr(IMPORT, List.of("images", "import", archive.toString()));
      if (!said.ok()) {
        throw new ContainersException("containerd refuses the archive: " + said.words());
      }
      return contents.names();
    } finally {
      loading.imports().unlock();
    }
  }

  /**
   * Makes the image of Pods' first process from a busybox, unless it exists; replaces another image
   * of that name.
   */
  void ensurePause(Path busybox, Path folder) throws IOException, InterruptedException {
    byte[] program = Files.readAllBytes(busybox);
    if (has(PauseImage.NAME, PauseImage.digest(program, architecture()))) {
      return;
    }
    Path file = folder.resolve("pause.tar");
    try {
      try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file))) {
        PauseImage.write(program, architecture(), out);
      }
      Commands.Result said = ctr(IMPORT, List.of("images", "import", file.toString()));
      if (!said.ok()) {
        throw new ContainersException(
            "containerd refuses the image %s, made of %s: %s"
                .formatted(PauseImage.NAME, busybox, said.words()));
      }
    } finally {
      Files.deleteIfExists(file);
    }
  }

  /** Returns whether a name belongs to the image with this digest. */
  private boolean has(String name, String digest) throws InterruptedException {
    Commands.Result said = ctr(ANSWER, List.of("images", "ls"));
    if (!said.ok()) {
      throw new ContainersException("containerd does not list its images: " + said.words());
    }
    return said.output()
        .lines()
        .map(line -> List.of(line.strip().split("\\s+")))
        .anyMatch(words -> words.getFirst().equals(name) && words.contains(digest));
  }

  /** Returns Go's name for this processor, which images use too. */
  static String architecture() {
    String own = System.getProperty("os.arch");
    return own.equals("aarch64") ? "arm64" : own;
  }

  private static void store(InputStream in, Path archive, SpaceClaims.Claim claim)
      throws IOException {
    byte[] chunk = new byte[CHUNK];
    long stored = 0;
    try (OutputStream out = Files.newOutputStream(archive)) {
      for (int read = in.read(chunk); read >= 0; read = in.read(chunk)) {
        // The volume holds the archive twice: packed and unpacked.
        if (!claim.grow(new DiskSpace(stored + read, 0), archive, ANY, new DiskSpace(RESERVE, 0))) {
          throw new IOException(
              "no room for the archive: the node has received %d MiB, and %s has %d MiB left beside other archives that arrive; remove images or enlarge the volume"
                  .formatted(
                      stored >> 20, archive.getParent(), claim.left(archive, ANY).bytes() >> 20));
        }
        out.write(chunk, 0, read);
        stored += read;
      }
    }
  }

  /** Returns the room for an archive with its unpacked layers. */
  private static DiskSpace room(DiskSpace left) {
    return new DiskSpace(Math.clamp(left.bytes(), 0, MOST_UNPACKED), Math.max(left.inodes(), 0));
  }

  /**
   * Returns the free space at containerd's folder, with any number of inodes if none are counted.
   */
  private DiskSpace free() throws InterruptedException {
    Commands.Result said =
        inside(
            ANSWER, List.of("stat", "-f", "-c", "%a %S %d %c", files.runtime().path().toString()));
    try (Scanner numbers = new Scanner(said.output())) {
      long bytes = numbers.nextLong() * numbers.nextLong();
      long inodes = numbers.nextLong();
      boolean counted = numbers.nextLong() > 0;
      return new DiskSpace(bytes, counted ? inodes : Long.MAX_VALUE);
    } catch (NoSuchElementException noNumber) {
      throw new ContainersException(
          "it is not known how much room containerd has for images: " + said.words(), noNumber);
    }
  }

  private Commands.Result ctr(Duration within, List<String> arguments) throws InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(ctr.toString());
    command.addAll(List.of("--address", RuntimeConfiguration.SOCKET.toString()));
    command.addAll(List.of("--namespace", NAMESPACE));
    command.addAll(arguments);
    return inside(within, command);
  }

  private Commands.Result inside(Duration within, List<String> command)
      throws InterruptedException {
    try {
      return new Commands().run(within, sandbox.command(command));
    } catch (IOException e) {
      throw new ContainersException("the node cannot query containerd: " + e.getMessage(), e);
    }
  }
}
