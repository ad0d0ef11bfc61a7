package dev.polis.ctl.node;

import com.google.protobuf.ByteString;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.ExitCode;
import dev.polis.files.AtomicFile;
import dev.polis.files.DiskTrouble;
import dev.polis.files.Mode;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * Writes a snapshot of etcd to a file of the operator, whole or not at all. The last 32 bytes of a
 * snapshot are the SHA-256 of the others, which this class compares before the file gets its name.
 */
final class EtcdSnapshotFile implements AutoCloseable {

  private static final int HASH_BYTES = 32;
  private static final int CHUNK = 1 << 20;

  private final Path file;
  private final Path part;
  private final OutputStream out;
  private final Hash hash = new Hash();

  /**
   * Makes the file under a temporary name beside its final one, for the operator alone.
   *
   * @throws CtlException if the final name is taken, or the file cannot be made
   */
  EtcdSnapshotFile(Path file) {
    this.file = file.toAbsolutePath().normalize();
    requireFree();
    try {
      part =
          Files.createTempFile(
              this.file.getParent(),
              "." + this.file.getFileName(),
              ".part",
              PosixFilePermissions.asFileAttribute(Mode.SECRET.permissions()));
      out = Files.newOutputStream(part);
    } catch (NoSuchFileException missing) {
      throw new CtlException(
          ExitCode.NOT_FOUND,
          "%s does not exist; make it, or name a file elsewhere".formatted(this.file.getParent()),
          missing);
    } catch (IOException refused) {
      throw failed(refused);
    }
  }

  private void requireFree() {
    if (Files.exists(file)) {
      throw new CtlException(
          "%s exists, and polisctl replaces no snapshot; name another file".formatted(file));
    }
  }

  /** Appends a part. */
  void write(ByteString data) {
    try {
      data.writeTo(out);
    } catch (IOException full) {
      throw failed(full);
    }
    hash.add(data.toByteArray());
  }

  long size() {
    return hash.size;
  }

  /**
   * Gives the file its name, once it is whole and on the disk.
   *
   * @return the hash
   * @throws CtlException if it is not whole
   */
  String finish() {
    hash.requireWhole("the snapshot that the node sent");
    requireFree();
    try {
      out.close();
      AtomicFile.force(part);
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
      AtomicFile.forceEntry(file);
    } catch (IOException refused) {
      throw failed(refused);
    }
    return hash.text();
  }

  private CtlException failed(IOException cause) {
    return new CtlException(
        "%s cannot be written: %s; %s, or name a file elsewhere; nothing is left of it"
            .formatted(file, DiskTrouble.reason(cause), DiskTrouble.remedy(DiskTrouble.of(cause))),
        cause);
  }

  /** Removes a file that is not whole. */
  @Override
  public void close() {
    try {
      out.close();
    } catch (IOException unwritten) {
      // The failure that made the file useless is already on its way to the operator.
    }
    try {
      Files.deleteIfExists(part);
    } catch (IOException stays) {
      throw new CtlException(
          "%s cannot be removed: %s; it may hold secrets of the cluster, so remove it"
              .formatted(part, DiskTrouble.reason(stays)),
          stays);
    }
  }

  /**
   * Checks the hash of a snapshot.
   *
   * @return the hash
   * @throws CtlException if the file is no whole snapshot
   */
  static String check(Path file) {
    Hash hash = new Hash();
    try (InputStream in = Files.newInputStream(file)) {
      for (byte[] chunk = in.readNBytes(CHUNK); chunk.length > 0; chunk = in.readNBytes(CHUNK)) {
        hash.add(chunk);
      }
    } catch (NoSuchFileException missing) {
      throw new CtlException(
          ExitCode.NOT_FOUND, file + " does not exist; name a snapshot of etcd", missing);
    } catch (IOException unreadable) {
      throw new CtlException(
          "%s cannot be read: %s; name a snapshot of etcd"
              .formatted(file, DiskTrouble.reason(unreadable)),
          unreadable);
    }
    hash.requireWhole(file.toString());
    return hash.text();
  }

  /** Computes the hash of all bytes but the last 32, which are the wanted one. */
  private static final class Hash {
    private final MessageDigest digest = sha256();
    private byte[] end = new byte[0];
    private long size;
    private byte[] found = new byte[0];

    private static MessageDigest sha256() {
      try {
        return MessageDigest.getInstance("SHA-256");
      } catch (NoSuchAlgorithmException absent) {
        throw new IllegalStateException("each JDK has SHA-256", absent);
      }
    }

    void add(byte[] bytes) {
      size += bytes.length;
      byte[] all = Arrays.copyOf(end, end.length + bytes.length);
      System.arraycopy(bytes, 0, all, end.length, bytes.length);
      int certain = Math.max(0, all.length - HASH_BYTES);
      digest.update(all, 0, certain);
      end = Arrays.copyOfRange(all, certain, all.length);
    }

    void requireWhole(String what) {
      found = digest.digest();
      if (!Arrays.equals(found, end)) {
        throw new CtlException(
            ExitCode.NOT_MET,
            "%s is damaged or not whole: of its %d bytes the last %d are not the SHA-256 of the others; save another one"
                .formatted(what, size, HASH_BYTES));
      }
    }

    String text() {
      return HexFormat.of().formatHex(found);
    }
  }
}
