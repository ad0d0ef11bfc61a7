package dev.polis.base.posix;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Attaches files to loop devices, which show a file as a block device. */
public final class LoopDevices {

  private static final Path CONTROL = Path.of("/dev/loop-control");
  private static final Path BLOCK_DEVICES = Path.of("/sys/block");

  // From linux/loop.h.
  private static final long LOOP_SET_FD = 0x4C00;
  private static final long LOOP_CLR_FD = 0x4C01;
  private static final long LOOP_CTL_GET_FREE = 0x4C82;

  // From fcntl.h: read and write, and not inherited by children.
  private static final int O_RDWR = 2;
  private static final int O_CLOEXEC = 0x80000;

  /**
   * The number of attempts: another process may take the device that the kernel reported as free.
   */
  private static final int ATTEMPTS = 16;

  /**
   * Is a loop device that shows a file.
   *
   * @param device its node, such as {@code /dev/loop3}
   * @param file the shown file
   */
  public record Attached(Path device, Path file) {}

  private LoopDevices() {}

  /** Attaches a file to a free loop device and returns the node of that device. */
  public static Path attach(Path file) throws PosixException {
    try (Descriptor control = open(CONTROL);
        Descriptor content = open(file)) {
      for (int attempt = 1; ; attempt++) {
        int number = control.ioctl(LOOP_CTL_GET_FREE, 0);
        Path device = Path.of("/dev/loop" + number);
        try (Descriptor loop = open(device)) {
          loop.ioctl(LOOP_SET_FD, content.number());
          return device;
        } catch (PosixException e) {
          if (e.errno() != Errno.EBUSY || attempt == ATTEMPTS) {
            throw e;
          }
        }
      }
    }
  }

  /** Detaches a loop device from its file; a busy device detaches after its last use. */
  public static void detach(Path device) throws PosixException {
    try (Descriptor loop = open(device)) {
      loop.ioctl(LOOP_CLR_FD, 0);
    }
  }

  /** Lists the loop devices that show a file, ordered by their nodes. */
  public static List<Attached> list() throws IOException {
    List<Attached> found = new ArrayList<>();
    try (DirectoryStream<Path> devices = Files.newDirectoryStream(BLOCK_DEVICES, "loop*")) {
      for (Path device : devices) {
        // A device without a file lacks this entry.
        String file =
            KernelFiles.read(device.resolve("loop/backing_file")).map(String::strip).orElse("");
        if (!file.isEmpty()) {
          found.add(new Attached(Path.of("/dev", device.getFileName().toString()), Path.of(file)));
        }
      }
    }
    found.sort(Comparator.comparing(Attached::device));
    return found;
  }

  private static Descriptor open(Path path) throws PosixException {
    return new Descriptor(
        path,
        LibC.call(
            "open",
            List.of(path, "O_RDWR"),
            (state, arena) ->
                (int)
                    LibC.Device.OPEN.invokeExact(
                        state, LibC.string(arena, path), O_RDWR | O_CLOEXEC)));
  }

  /** Is an open file; its opener closes it. */
  private record Descriptor(Path path, int number) implements AutoCloseable {

    int ioctl(long request, long argument) throws PosixException {
      return LibC.call(
          "ioctl",
          List.of(path, "0x" + Long.toHexString(request), argument),
          (state, _) -> (int) LibC.Device.IOCTL.invokeExact(state, number, request, argument));
    }

    @Override
    public void close() throws PosixException {
      LibC.call(
          "close", List.of(path), (state, _) -> (int) LibC.Device.CLOSE.invokeExact(state, number));
    }
  }
}
