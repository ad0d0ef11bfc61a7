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
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;

/** Takes images into a running containerd and lists them, with containerd's own tool ctr. */
final class ImageStore {

  /** The name space of CRI. */
  private static final String NAMESPACE = "k8s.io";

  /** containerd answers in 50 ms; this allows for a machine under load. */
  private static final Duration ANSWER = Duration.ofSeconds(30);

  /** Unpacking a GiB takes half a minute; a slow disk gets twenty times that. */
  private static final Duration IMPORT = Duration.ofMinutes(10);

  /** The room that stays for all else on the volume: etcd, logs, the node's own files. */
  private static final long RESERVE = 256L << 20;

  /** The largest images, of machine learning, have half of this. */
  private static final long MOST_UNPACKED = 32L << 30;

  /** Archives that may come at the same time; each takes a thread that waits, and room. */
  static final int UPLOADS = 16;

  private static final int CHUNK = 1 << 20;

  private final Sandbox sandbox;
  private final Path ctr;
  private final Path archives;
  private final Loading loading;

  /** Bounds the archives that the node loads at the same time. */
  record Loading(Semaphore uploads, ReentrantLock imports) {
    Loading() {
      this(new Semaphore(UPLOADS), new ReentrantLock());
    }
  }

  /**
   * @param archives folder for an archive during its loading
   * @param loading bounds the loading of all stores of this node
   */
  ImageStore(Sandbox sandbox, Path ctr, Path archives, Loading loading) {
    this.sandbox = sandbox;
    this.ctr = ctr;
    this.archives = archives;
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
        // Warnings of ctr's stand in between; names have no blanks.
        .filter(name -> !name.isEmpty() && !name.contains(" ") && !name.startsWith("sha256:"))
        .sorted()
        .toList();
  }

  /**
   * Refuses a containerd that runs without the part that the kubelet speaks to, which it does if
   * that finds something wrong with its configuration.
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
            "containerd runs without its plugin %s, which is in state \"%s\"; the log of root.containers.containerd says why"
                .formatted(String.join(" ", words.subList(0, 2)), words.getLast()));
      }
    }
  }

  /**
   * Takes the images of an archive in; returns their names. An archive that comes slowly delays no
   * other: only complete archives are imported, one after the other.
   */
  List<String> load(InputStream in) throws IOException, InterruptedException {
    if (!loading.uploads().tryAcquire()) {
      throw new ContainersException(
          "the node already loads %d archives of images; send this one again when it has finished one"
              .formatted(UPLOADS));
    }
    try {
      Path archive = Files.createTempFile(archives, "", ".tar");
      try {
        store(in, archive);
        return load(archive);
      } finally {
        Files.deleteIfExists(archive);
      }
    } finally {
      loading.uploads().release();
    }
  }

  private List<String> load(Path archive) throws IOException, InterruptedException {
    loading.imports().lockInterruptibly();
    try {
      List<String> names =
          ImageArchive.names(archive, Math.clamp(free(archive) - RESERVE, 0, MOST_UNPACKED));
      Commands.Result said = ctr(IMPORT, List.of("images", "import", archive.toString()));
      if (!said.ok()) {
        throw new ContainersException("containerd refuses the archive: " + said.words());
      }
      return names;
    } finally {
      loading.imports().unlock();
    }
  }

  /**
   * Makes the image of Pods' first process from a busybox, unless it exists; this replaces another
   * image of that name.
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

  /** Returns whether a name is that of the image with a digest. */
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

  /** Returns the name that Go, and so images, have for this processor. */
  static String architecture() {
    String own = System.getProperty("os.arch");
    return own.equals("aarch64") ? "arm64" : own;
  }

  private static void store(InputStream in, Path archive) throws IOException {
    byte[] chunk = new byte[CHUNK];
    long stored = 0;
    try (OutputStream out = Files.newOutputStream(archive)) {
      for (int read = in.read(chunk); read >= 0; read = in.read(chunk)) {
        // The volume holds the archive once as it is and once unpacked.
        long free = free(archive);
        if (free - read - stored < RESERVE) {
          throw new IOException(
              "no room for the archive: the node has received %d MiB, and %s has %d MiB left; remove images or enlarge the volume"
                  .formatted(stored >> 20, archive.getParent(), free >> 20));
        }
        out.write(chunk, 0, read);
        stored += read;
      }
    }
  }

  private static long free(Path archive) throws IOException {
    return Files.getFileStore(archive).getUsableSpace();
  }

  private Commands.Result ctr(Duration within, List<String> arguments) throws InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(ctr.toString());
    command.addAll(List.of("--address", RuntimeConfiguration.SOCKET.toString()));
    command.addAll(List.of("--namespace", NAMESPACE));
    command.addAll(arguments);
    try {
      return new Commands().run(within, sandbox.command(command));
    } catch (IOException e) {
      throw new ContainersException("the node cannot query containerd: " + e.getMessage(), e);
    }
  }
}
