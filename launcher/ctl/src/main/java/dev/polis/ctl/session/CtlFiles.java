package dev.polis.ctl.session;

import com.google.protobuf.ByteString;
import dev.polis.files.AtomicFile;
import dev.polis.files.DiskTrouble;
import dev.polis.files.Mode;
import dev.polis.pki.PkiException;
import io.grpc.StatusException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/** Reads the operator's files, and writes them whole and for the operator alone. */
public final class CtlFiles {

  /**
   * Below the limit of each upload, of which the lowest is 1 MiB, and few messages for a system.
   */
  private static final int PART_BYTES = 1 << 19;

  /** Sends the next part of a stream to a node. */
  @FunctionalInterface
  public interface PartSender {
    /** Returns false if the node has ended the call; its answer says why. */
    boolean send(ByteString part) throws StatusException, InterruptedException;
  }

  private CtlFiles() {}

  /** Sends a stream in parts to its end, or until the node has ended the call. */
  public static void upload(InputStream in, PartSender node)
      throws IOException, StatusException, InterruptedException {
    byte[] part;
    do {
      part = in.readNBytes(PART_BYTES);
    } while (part.length > 0 && node.send(ByteString.copyFrom(part)));
  }

  public static String read(Path file, String remedy) {
    try {
      return Files.readString(file);
    } catch (NoSuchFileException e) {
      throw new CtlException(ExitCode.NOT_FOUND, file + " does not exist; " + remedy, e);
    } catch (IOException e) {
      throw new CtlException(file + " cannot be read: " + e + "; " + remedy, e);
    }
  }

  /** Reads a key or a certificate of a text. */
  public interface Parser<T> {
    T parse(String text) throws PkiException;
  }

  /**
   * Reads the text of a file in PEM.
   *
   * @param what the file should hold
   * @param remedy for a text that is not that
   */
  public static <T> T parse(Path file, String text, Parser<T> parser, String what, String remedy) {
    try {
      return parser.parse(text);
    } catch (PkiException e) {
      throw new CtlException(
          "%s is no %s: %s; %s".formatted(file, what, e.getMessage(), remedy), e);
    }
  }

  /**
   * Overwrites a file, removes it and makes the removal durable.
   *
   * @param remedy for a file that cannot be erased
   */
  public static void erase(Path file, String remedy) {
    try {
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
        ByteBuffer zeros = ByteBuffer.allocate(Math.toIntExact(channel.size()));
        while (zeros.hasRemaining()) {
          channel.write(zeros);
        }
        channel.force(true);
      }
      Files.delete(file);
      AtomicFile.force(file.toAbsolutePath().getParent());
    } catch (IOException e) {
      throw new CtlException(file + " cannot be erased: " + e + "; " + remedy, e);
    }
  }

  /** Gives a file the name of another one in its folder, which it replaces. */
  public static void move(Path from, Path to) {
    try {
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new CtlException(
          "%s cannot take the place of %s: %s; repeat the command".formatted(from, to, e), e);
    }
  }

  public static void write(Path file, byte[] content) {
    try {
      AtomicFile.replace(file, content, Mode.SECRET, AtomicFile.Durability.POWER_LOSS);
    } catch (IOException e) {
      throw new CtlException(
          "%s cannot be written: %s; %s, or choose another file"
              .formatted(file, DiskTrouble.reason(e), DiskTrouble.remedy(DiskTrouble.of(e))),
          e);
    }
  }
}
