package dev.polis.storage.slots;

import dev.polis.base.digest.Sha256;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Reads a boot file, which is a program for UEFI with kernel, initramfs and command line as
 * sections, and computes the digests with which firmware and stub measure it.
 */
public final class BootFile implements AutoCloseable {

  private static final String LINUX = ".linux";
  private static final String COMMAND_LINE = ".cmdline";

  // Offsets of the PE format; the optional header is that of 64-bit programs.
  private static final int PE_OFFSET = 0x3c;
  private static final int PE_MAGIC = 0x4550;
  private static final int SECTIONS = 6;
  private static final int OPTIONAL_SIZE = 20;
  private static final int OPTIONAL = 24;
  private static final int OPTIONAL_64 = 0x20b;
  private static final int HEADERS_SIZE = 60;
  private static final int CHECKSUM = 64;
  private static final int CERTIFICATES = 144;
  private static final int SECTION_BYTES = 40;
  private static final int CERTIFICATE_HEADER = 8;
  private static final int CERTIFICATE_ALIGNMENT = 8;
  private static final short PKCS_7 = 2;
  // The stub's own sections grow by some bytes when they are loaded, and the other ones by none.
  private static final int MOST_PADDING = 1 << 20;

  private record Section(String name, int size, int raw, int offset) {}

  private final Path file;
  private final Arena arena;
  private final ByteBuffer bytes;
  private final int pe;
  private final List<Section> sections = new ArrayList<>();

  private BootFile(Path file, Arena arena, ByteBuffer bytes) {
    this.file = file;
    this.arena = arena;
    this.bytes = bytes.order(ByteOrder.LITTLE_ENDIAN);
    this.pe = bytes.getInt(PE_OFFSET);
    if (bytes.getInt(pe) != PE_MAGIC || bytes.getShort(pe + OPTIONAL) != OPTIONAL_64) {
      throw new IllegalArgumentException("it is no program for UEFI on this architecture");
    }
    int at = pe + OPTIONAL + Short.toUnsignedInt(bytes.getShort(pe + OPTIONAL_SIZE));
    for (int i = 0; i < Short.toUnsignedInt(bytes.getShort(pe + SECTIONS)); i++) {
      byte[] name = new byte[8];
      bytes.get(at, name);
      sections.add(
          new Section(
              new String(name, StandardCharsets.ISO_8859_1).replace("\0", ""),
              bytes.getInt(at + 8),
              bytes.getInt(at + 16),
              bytes.getInt(at + 20)));
      at += SECTION_BYTES;
    }
  }

  /**
   * Opens a file, on this thread alone. Until the close it is mapped, since a heap has no room for
   * several.
   *
   * @throws IOException if it cannot be read, or is no boot file
   */
  public static BootFile read(Path file) throws IOException {
    Arena arena = Arena.ofConfined();
    try (FileChannel channel = FileChannel.open(file)) {
      return new BootFile(
          file,
          arena,
          channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena).asByteBuffer());
    } catch (IOException e) {
      arena.close();
      throw e;
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      arena.close();
      throw foreign(file, e);
    }
  }

  private static IOException foreign(Path file, Exception why) {
    return new IOException("%s is not a boot file: %s".formatted(file, why.getMessage()), why);
  }

  /** Reads with offsets and sizes of the file, which may be wrong. */
  private <T> T reading(Supplier<T> read) throws IOException {
    try {
      return read.get();
    } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
      throw foreign(file, e);
    }
  }

  @Override
  public void close() {
    arena.close();
  }

  /**
   * Returns a parameter of the kernel's command line.
   *
   * @throws IOException if this is no boot file
   */
  public Optional<String> parameter(String name) throws IOException {
    return reading(() -> section(COMMAND_LINE))
        .map(BootFile::text)
        .flatMap(line -> parameter(line, name));
  }

  static Optional<String> parameter(String line, String name) {
    return List.of(line.strip().split("\\s+")).stream()
        .filter(word -> word.startsWith(name + "="))
        .map(word -> word.substring(name.length() + 1))
        .findFirst();
  }

  private static String text(ByteBuffer content) {
    return StandardCharsets.UTF_8.decode(content.duplicate()).toString().replace("\0", "");
  }

  /**
   * Returns the digest of each part that a boot measures, by the part's name; two boot files with
   * the same names differ in nothing else.
   *
   * @throws IOException if this is no boot file
   */
  public Map<String, String> measured() throws IOException {
    return reading(this::digests);
  }

  private Map<String, String> digests() {
    Map<String, String> digests = new LinkedHashMap<>();
    digests.put("program", programDigest());
    section(LINUX)
        .ifPresent(
            linux ->
                digests.put("kernel", new BootFile(file, arena, linux.slice()).programDigest()));
    for (Section section : sections) {
      digests.put(section.name(), digest(content(section)));
    }
    // A boot loader gives the command line to the stub, in the characters of UEFI.
    section(COMMAND_LINE)
        .map(BootFile::text)
        .ifPresent(
            line ->
                digests.put(
                    "options",
                    digest(ByteBuffer.wrap((line + "\0").getBytes(StandardCharsets.UTF_16LE)))));
    return digests;
  }

  /**
   * Returns the certificates in the signatures for Secure Boot; empty if the file has none. It
   * checks no signature, which the firmware does.
   *
   * @throws IOException if this is no boot file
   */
  Set<Certificate> signers() throws IOException {
    return reading(this::certificates);
  }

  private Set<Certificate> certificates() {
    int at = bytes.getInt(pe + OPTIONAL + CERTIFICATES);
    int end = at + bytes.getInt(pe + OPTIONAL + CERTIFICATES + 4);
    Set<Certificate> all = new HashSet<>();
    while (at < end) {
      int length = bytes.getInt(at);
      if (length <= CERTIFICATE_HEADER || length > end - at || bytes.getShort(at + 6) != PKCS_7) {
        throw new IllegalArgumentException("its signature has an unknown format");
      }
      byte[] signature = new byte[length - CERTIFICATE_HEADER];
      bytes.get(at + CERTIFICATE_HEADER, signature);
      try {
        all.addAll(
            CertificateFactory.getInstance("X.509")
                .generateCertificates(new ByteArrayInputStream(signature)));
      } catch (CertificateException e) {
        throw new IllegalArgumentException("its signature cannot be read: " + e.getMessage(), e);
      }
      at += (length + CERTIFICATE_ALIGNMENT - 1) / CERTIFICATE_ALIGNMENT * CERTIFICATE_ALIGNMENT;
    }
    return all;
  }

  private Optional<ByteBuffer> section(String name) {
    return sections.stream()
        .filter(section -> section.name().equals(name))
        .findFirst()
        .map(this::content);
  }

  /** Returns a section as the firmware loads it. */
  private ByteBuffer content(Section section) {
    if (section.size() <= section.raw()) {
      return bytes.slice(section.offset(), section.size());
    }
    if ((long) section.size() - section.raw() > MOST_PADDING) {
      throw new IllegalArgumentException(
          "its section %s has %d bytes in the file, and claims %d"
              .formatted(section.name(), section.raw(), section.size()));
    }
    ByteBuffer padded = ByteBuffer.allocate(section.size());
    padded.put(bytes.slice(section.offset(), section.raw()));
    return padded.rewind();
  }

  /**
   * Returns the digest by which the firmware measures a program, Authenticode's: all but checksum
   * and signatures.
   */
  private String programDigest() {
    MessageDigest digest = Sha256.begin();
    int headers = bytes.getInt(pe + OPTIONAL + HEADERS_SIZE);
    int checksum = pe + OPTIONAL + CHECKSUM;
    int certificates = pe + OPTIONAL + CERTIFICATES;
    update(digest, 0, checksum);
    update(digest, checksum + 4, certificates);
    update(digest, certificates + 8, headers);
    int done = headers;
    for (Section section :
        sections.stream()
            .filter(each -> each.raw() > 0)
            .sorted(Comparator.comparingInt(Section::offset))
            .toList()) {
      update(digest, section.offset(), section.offset() + section.raw());
      done += section.raw();
    }
    int end = bytes.capacity() - bytes.getInt(certificates + 4);
    if (end > done) {
      update(digest, done, end);
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  private void update(MessageDigest digest, int from, int to) {
    digest.update(bytes.slice(from, to - from));
  }

  private static String digest(ByteBuffer content) {
    MessageDigest digest = Sha256.begin();
    digest.update(content.duplicate());
    return HexFormat.of().formatHex(digest.digest());
  }
}
