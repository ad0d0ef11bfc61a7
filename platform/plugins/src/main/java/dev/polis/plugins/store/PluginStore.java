package dev.polis.plugins.store;

import dev.polis.files.AtomicFile;
import dev.polis.files.Mode;
import dev.polis.files.UnforcedException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Stores plugins by digest in a folder, and the current set of them. The package describes its
 * format and its promises.
 *
 * <p>Usable from several threads; writing calls run one after the other. Only one process may
 * write.
 */
public final class PluginStore {
  /** The suffix of a plugin manifest's file name, after the name of the bundle's file. */
  public static final String MANIFEST_SUFFIX = ".plugin";

  /** The remedy for a missing or damaged file. */
  public static final String RESTORE =
      "a start restores what came with the distribution (polisctl node restart --runtime); push again what came from elsewhere, or bring the file back from a copy";

  private static final String TEMPORARY = "writing-";
  private static final String RESEED =
      "move the store's folder aside: the next start seeds a new one from the distribution";

  private final Path root;
  private final Path files;
  private final Path generations;
  private final Path pointer;
  private final Path distribution;
  private final CheckedNotes checked;
  private final Consumer<StoreStep> steps;

  private PluginStore(Path root, Consumer<StoreStep> steps) {
    this.root = root;
    this.files = root.resolve("files");
    this.generations = root.resolve("generations");
    this.pointer = root.resolve("current");
    this.distribution = root.resolve("distribution");
    this.checked = new CheckedNotes(root.resolve("checked"));
    this.steps = steps;
  }

  /**
   * Opens or creates the store, and removes the temporary files of interrupted installations.
   *
   * @param root its folder
   * @return the store
   * @throws IOException if the folder cannot be written
   */
  public static PluginStore open(Path root) throws IOException {
    return open(root, step -> {});
  }

  /**
   * Opens the store for a test that observes each step.
   *
   * @param root its folder
   * @param steps called after each step, on the working thread
   * @return the store
   * @throws IOException if the folder can not be written
   */
  static PluginStore open(Path root, Consumer<StoreStep> steps) throws IOException {
    PluginStore store =
        new PluginStore(Objects.requireNonNull(root), Objects.requireNonNull(steps));
    for (Path folder : List.of(store.files, store.generations, StagedFiles.folder(root))) {
      AtomicFile.makeDirectory(folder, Mode.PRIVATE_DIRECTORY, AtomicFile.Durability.POWER_LOSS);
    }
    for (Path folder : List.of(store.root, store.files, store.generations)) {
      sweep(folder);
    }
    return store;
  }

  /**
   * Reads the current generation. It waits for no call that writes: such a call may hang at a disk,
   * and callers of this method are many.
   *
   * @return the current generation; empty before the first commit
   * @throws PluginStoreException if the pointer or the generation is damaged
   * @throws IOException if they can not be read
   */
  public Optional<Generation> current() throws PluginStoreException, IOException {
    Optional<String> text = pointerText();
    while (text.isPresent()) {
      try {
        return Optional.of(pointedAt(text.get()));
      } catch (PluginStoreException damaged) {
        Optional<String> now = pointerText();
        if (now.equals(text)) {
          throw damaged;
        }
        // Two later generations were committed meanwhile, and this one was deleted.
        text = now;
      }
    }
    return Optional.empty();
  }

  private Optional<String> pointerText() throws IOException {
    try {
      return Optional.of(Files.readString(pointer, StandardCharsets.ISO_8859_1));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  private Generation pointedAt(String text) throws PluginStoreException, IOException {
    String[] words = text.strip().split(" ", -1);
    long number;
    Digest digest;
    try {
      if (words.length != 2) {
        throw new IllegalArgumentException("it has " + words.length + " words, not 2");
      }
      number = Long.parseLong(words[0]);
      digest = new Digest(words[1]);
    } catch (IllegalArgumentException e) {
      throw new PluginStoreException(
          pointer,
          "the pointer to the current generation is garbled (" + e.getMessage() + ")",
          RESEED,
          e);
    }
    return generation(number, digest);
  }

  /**
   * Adds a file; does not write an existing file again.
   *
   * @param plugin the plugin of the file
   * @param source its present path
   * @throws PluginStoreException if its content has another digest
   * @throws IOException if it can not be read or written
   */
  public synchronized void put(StoredPlugin plugin, Path source)
      throws PluginStoreException, IOException {
    Path place = place(plugin);
    if (Files.exists(place) && isWhole(plugin, place)) {
      return;
    }
    Path temporary = files.resolve(TEMPORARY + plugin.digest());
    copy(source, temporary);
    steps.accept(StoreStep.FILE_WRITTEN);
    Digest found = Digest.of(temporary);
    if (!found.equals(plugin.digest())) {
      Files.delete(temporary);
      throw new PluginStoreException(
          source,
          "the file of "
              + plugin.symbolicName()
              + " has the digest "
              + found
              + " and should have "
              + plugin.digest(),
          "it was changed or damaged after it was built: build or fetch it again");
    }
    AtomicFile.force(temporary);
    steps.accept(StoreStep.FILE_FORCED);
    move(temporary, place);
    steps.accept(StoreStep.FILE_RENAMED);
    checked.note(plugin.digest(), place);
  }

  /**
   * Stores the plugin manifest beside its file, as long as the store keeps the file.
   *
   * @param plugin the plugin
   * @param manifest the content of the manifest's file
   * @throws IOException if it can not be written
   */
  public synchronized void putManifest(StoredPlugin plugin, byte[] manifest) throws IOException {
    AtomicFile.replace(
        files.resolve(fileName(plugin) + MANIFEST_SUFFIX),
        manifest,
        Mode.PUBLIC,
        AtomicFile.Durability.POWER_LOSS);
  }

  private boolean isWhole(StoredPlugin plugin, Path place) throws IOException {
    return checked.agrees(plugin.digest(), place) || Digest.of(place).equals(plugin.digest());
  }

  /**
   * Makes a set of plugins the current generation. The store must have their files.
   *
   * @param origin the distribution of its origin
   * @param plugins the whole set
   * @return the new generation
   * @throws PluginStoreException if a file is missing or damaged, or the store is
   * @throws IOException if the store can not be written
   */
  public Generation commit(Digest origin, List<StoredPlugin> plugins)
      throws PluginStoreException, IOException {
    return commit(origin, plugins, ConfigurationSet.none());
  }

  /**
   * Makes a set of plugins with configurations the current generation. The store must have their
   * files.
   *
   * @param origin the distribution of its origin
   * @param plugins the whole set
   * @param configuration all its configurations
   * @return the new generation
   * @throws PluginStoreException if a file is missing or damaged, or the store is
   * @throws IOException if the store cannot be written; then the former generation counts, unless
   *     the message reports that the store could not restore it
   */
  public synchronized Generation commit(
      Digest origin, List<StoredPlugin> plugins, ConfigurationSet configuration)
      throws PluginStoreException, IOException {
    return commit(List.of(new Generation(next(), origin, plugins, configuration)));
  }

  /**
   * Makes a set of plugins the current generation, and another set the generation before it, in one
   * step. After any crash, either both exist or neither. The store must have their files.
   *
   * @param origin the distribution of both
   * @param before the whole earlier set, without configurations
   * @param plugins the whole set
   * @param configuration all its configurations
   * @return the generation that counts
   * @throws PluginStoreException if a file is missing or damaged, or the store is
   * @throws IOException as {@link #commit(Digest, List, ConfigurationSet)}
   */
  public synchronized Generation commitWithWayBack(
      Digest origin,
      List<StoredPlugin> before,
      List<StoredPlugin> plugins,
      ConfigurationSet configuration)
      throws PluginStoreException, IOException {
    long next = next();
    return commit(
        List.of(
            new Generation(next, origin, before),
            new Generation(next + 1, origin, plugins, configuration)));
  }

  /**
   * Returns the next number; an existing generation with it was never current, so it is
   * overwritten.
   */
  private long next() throws PluginStoreException, IOException {
    return current().map(Generation::number).orElse(0L) + 1;
  }

  /** Writes generations, and switches to the last one. */
  private Generation commit(List<Generation> added) throws PluginStoreException, IOException {
    Optional<byte[]> former = pointer();
    for (Generation each : added) {
      for (StoredPlugin plugin : each.plugins()) {
        verified(plugin);
      }
    }
    AtomicFile.force(files);
    steps.accept(StoreStep.FILES_FORCED);
    for (Generation each : added) {
      write(
          generations.resolve(Long.toString(each.number())),
          bytes(each),
          StoreStep.GENERATION_WRITTEN,
          StoreStep.GENERATION_FORCED,
          StoreStep.GENERATION_RENAMED);
    }
    AtomicFile.force(generations);
    steps.accept(StoreStep.GENERATIONS_FORCED);
    Generation next = added.getLast();
    byte[] target =
        (next.number() + " " + Digest.of(bytes(next)) + "\n").getBytes(StandardCharsets.UTF_8);
    write(
        pointer,
        target,
        StoreStep.POINTER_WRITTEN,
        StoreStep.POINTER_FORCED,
        StoreStep.POINTER_RENAMED);
    try {
      AtomicFile.forceEntry(pointer);
    } catch (UnforcedException e) {
      pointBack(former, e);
      throw e;
    }
    steps.accept(StoreStep.POINTER_SETTLED);
    return next;
  }

  private static byte[] bytes(Generation generation) {
    return generation.encode().getBytes(StandardCharsets.UTF_8);
  }

  private Optional<byte[]> pointer() throws IOException {
    return Files.exists(pointer) ? Optional.of(Files.readAllBytes(pointer)) : Optional.empty();
  }

  /** Restores the former pointer after a switch that the caller considers failed. */
  private void pointBack(Optional<byte[]> former, UnforcedException failure)
      throws UnforcedException {
    try {
      if (former.isPresent()) {
        AtomicFile.replace(pointer, former.get(), Mode.SECRET, AtomicFile.Durability.PROCESS);
      } else {
        Files.delete(pointer);
      }
    } catch (IOException e) {
      failure.addSuppressed(e);
      throw new UnforcedException(pointer, failure);
    }
  }

  /**
   * @param plugin a plugin of a generation of this store
   * @return its file, after a comparison with the digest, or with the checksum from the last
   *     comparison
   * @throws PluginStoreException if it is missing or has another digest
   * @throws IOException if it can not be read
   */
  public Path verified(StoredPlugin plugin) throws PluginStoreException, IOException {
    Path file = place(plugin);
    Digest found;
    try {
      if (checked.agrees(plugin.digest(), file)) {
        return file;
      }
      found = Digest.of(file);
    } catch (NoSuchFileException e) {
      throw new PluginStoreException(
          file,
          "the file of " + plugin.symbolicName() + " " + plugin.version() + " is missing",
          RESTORE + "; without a copy, " + RESEED,
          e);
    }
    if (!found.equals(plugin.digest())) {
      throw new PluginStoreException(
          file,
          "the file of "
              + plugin.symbolicName()
              + " "
              + plugin.version()
              + " is damaged, its digest is "
              + found,
          RESTORE + "; without a copy, " + RESEED);
    }
    checked.note(plugin.digest(), file);
    return file;
  }

  /**
   * Returns true if the file of a plugin is as it was when its digest was last compared, such as at
   * the start of the process. It does not read the file.
   *
   * @param plugin a plugin of a generation of this store, whose file is there
   * @throws IOException if the file's attributes can not be read
   */
  public boolean isAsVerified(StoredPlugin plugin) throws IOException {
    return checked.outlives(plugin.digest(), place(plugin));
  }

  /**
   * Returns the generation before the current one, for a rollback.
   *
   * @return empty if there is none
   * @throws PluginStoreException if it is damaged
   * @throws IOException if it can not be read
   */
  public synchronized Optional<Generation> previous() throws PluginStoreException, IOException {
    Optional<Generation> current = current();
    return current.isEmpty() ? Optional.empty() : previous(current.get().number());
  }

  /**
   * Stores the list of the distribution's plugins, and keeps their files until the next
   * distribution.
   *
   * @param origin the digest of the distribution
   * @param plugins the whole set; the store has their files
   * @throws IOException if it can not be written
   */
  public synchronized void putDistribution(Digest origin, List<StoredPlugin> plugins)
      throws IOException {
    AtomicFile.replace(
        distribution,
        bytes(new Generation(1, origin, plugins)),
        Mode.SECRET,
        AtomicFile.Durability.POWER_LOSS);
  }

  /**
   * Returns the distribution's plugins; the number of the generation has no meaning.
   *
   * @return empty if the list is missing or garbled; the launcher writes it again at each start
   * @throws IOException if it can not be read
   */
  public synchronized Optional<Generation> distribution() throws IOException {
    try {
      return Optional.of(
          Generation.decode(Files.readString(distribution, StandardCharsets.ISO_8859_1)));
    } catch (NoSuchFileException never) {
      return Optional.empty();
    } catch (IllegalArgumentException garbled) {
      return Optional.empty();
    }
  }

  /**
   * Returns the path of a file in the store.
   *
   * @param digest the digest of the file
   * @return empty if the store lacks it
   */
  public Optional<Path> file(Digest digest) {
    return Optional.of(files.resolve(fileName(digest.hex()))).filter(Files::exists);
  }

  /**
   * Returns the digests of all files of the store.
   *
   * @return the digests in the file names, without a read of the contents
   * @throws IOException if the folder can not be read
   */
  public Set<Digest> files() throws IOException {
    Set<Digest> found = new HashSet<>();
    for (Path file : list(files)) {
      String name = file.getFileName().toString();
      if (name.matches("[0-9a-f]{64}\\.jar")) {
        found.add(new Digest(name.substring(0, name.indexOf('.'))));
      }
    }
    return found;
  }

  /**
   * Returns the folder of this store, for files beside it.
   *
   * @return the folder
   */
  public Path folder() {
    return root;
  }

  /**
   * Deletes all generations except the current one and its predecessor, and all files that these,
   * the distribution and the cluster do not need.
   *
   * @return the number of deleted files
   * @throws PluginStoreException if one of the two is damaged; then it deletes no file
   * @throws IOException if the store can not be written
   */
  public synchronized int collect() throws PluginStoreException, IOException {
    Optional<Generation> current = current();
    if (current.isEmpty()) {
      return 0;
    }
    Set<Long> kept = new HashSet<>(Set.of(current.get().number()));
    Set<String> named = names(current.get());
    Optional<Generation> previous = previous(current.get().number());
    if (previous.isPresent()) {
      kept.add(previous.get().number());
      named.addAll(names(previous.get()));
    }
    distribution().ifPresent(own -> named.addAll(names(own)));
    ClusterWants.read(root).anywhere().forEach(digest -> named.add(fileName(digest.hex())));
    for (long number : numbers()) {
      if (!kept.contains(number)) {
        Files.delete(generations.resolve(Long.toString(number)));
        steps.accept(StoreStep.GENERATION_DELETED);
      }
    }
    // A file may disappear only after the last generation with it has left the disk.
    AtomicFile.force(generations);
    int deleted = 0;
    for (Path file : list(files)) {
      if (!named.contains(jarOf(file.getFileName().toString()))) {
        Files.delete(file);
        deleted++;
        steps.accept(StoreStep.FILE_DELETED);
      }
    }
    checked.keep(digest -> named.contains(fileName(digest)));
    return deleted;
  }

  private Optional<Generation> previous(long number) throws PluginStoreException, IOException {
    Optional<Long> before = numbers().stream().filter(n -> n < number).max(Long::compare);
    return before.isEmpty() ? Optional.empty() : Optional.of(read(before.get()));
  }

  private Generation generation(long number, Digest expected)
      throws PluginStoreException, IOException {
    Path file = generations.resolve(Long.toString(number));
    byte[] content;
    try {
      content = Files.readAllBytes(file);
    } catch (NoSuchFileException e) {
      throw new PluginStoreException(
          file, "the generation " + pointer + " points to is missing", RESEED, e);
    }
    Digest found = Digest.of(content);
    if (!found.equals(expected)) {
      throw new PluginStoreException(
          file,
          "the generation is damaged, its digest is " + found + " and not " + expected,
          RESEED);
    }
    return decode(file, content);
  }

  private Generation read(long number) throws PluginStoreException, IOException {
    Path file = generations.resolve(Long.toString(number));
    return decode(file, Files.readAllBytes(file));
  }

  private static Generation decode(Path file, byte[] content) throws PluginStoreException {
    try {
      return Generation.decode(new String(content, StandardCharsets.ISO_8859_1));
    } catch (IllegalArgumentException e) {
      throw new PluginStoreException(
          file, "the generation is garbled (" + e.getMessage() + ")", RESEED, e);
    }
  }

  private List<Long> numbers() throws IOException {
    List<Long> numbers = new ArrayList<>();
    for (Path file : list(generations)) {
      String name = file.getFileName().toString();
      if (name.matches("[1-9][0-9]{0,17}")) {
        numbers.add(Long.valueOf(name));
      }
    }
    return numbers;
  }

  private Path place(StoredPlugin plugin) {
    return files.resolve(fileName(plugin));
  }

  private void write(
      Path place, byte[] content, StoreStep written, StoreStep forced, StoreStep renamed)
      throws IOException {
    Path temporary = place.resolveSibling(TEMPORARY + place.getFileName());
    Files.write(temporary, content);
    steps.accept(written);
    AtomicFile.force(temporary);
    steps.accept(forced);
    move(temporary, place);
    steps.accept(renamed);
  }

  private static Set<String> names(Generation generation) {
    Set<String> names = new HashSet<>();
    generation.plugins().forEach(plugin -> names.add(fileName(plugin)));
    return names;
  }

  /** Returns the name of the bundle file, also for the name of its plugin manifest. */
  private static String jarOf(String name) {
    return name.endsWith(MANIFEST_SUFFIX)
        ? name.substring(0, name.length() - MANIFEST_SUFFIX.length())
        : name;
  }

  private static String fileName(StoredPlugin plugin) {
    return fileName(plugin.digest().hex());
  }

  static String fileName(String digest) {
    return digest + ".jar";
  }

  private static void sweep(Path folder) throws IOException {
    for (Path file : list(folder)) {
      if (file.getFileName().toString().startsWith(TEMPORARY)) {
        Files.delete(file);
      }
    }
  }

  private static List<Path> list(Path folder) throws IOException {
    List<Path> found = new ArrayList<>();
    try (DirectoryStream<Path> stream = Files.newDirectoryStream(folder)) {
      stream.forEach(found::add);
    }
    return found;
  }

  private static void copy(Path source, Path target) throws IOException {
    try (InputStream in = Files.newInputStream(source)) {
      Files.copy(in, target, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private static void move(Path from, Path to) throws IOException {
    Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
  }
}
