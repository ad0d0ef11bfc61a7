package dev.polis.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PosixTest {
  private final Posix posix = Posix.system();

  @TempDir Path directory;

  /** Something to do in a namespace. */
  private interface Body {
    void run() throws Exception;
  }

  /** Runs on a thread of its own, which takes its namespaces with it when it ends. */
  private static void inThread(Body body) throws Exception {
    var done = new CompletableFuture<Void>();
    Thread.ofPlatform()
        .name("namespace")
        .start(
            () -> {
              try {
                body.run();
                done.complete(null);
              } catch (Throwable failure) {
                done.completeExceptionally(failure);
              }
            });
    done.get(30, TimeUnit.SECONDS);
  }

  private void assumeNamespaces() throws Exception {
    assumeTrue(
        posix.effectiveUserId() == 0,
        "making namespaces needs root, and this is the user " + System.getProperty("user.name"));
  }

  private void separate() {
    posix.unshare(EnumSet.of(Namespace.MOUNT, Namespace.HOSTNAME));
    // Else the mounts below would show up in the namespace we came from.
    posix.mount("none", Path.of("/"), "", EnumSet.of(MountFlag.RECURSIVE, MountFlag.PRIVATE), "");
  }

  @Test
  @DisplayName("process id and user are the kernel's")
  void identity() throws Exception {
    assertEquals(ProcessHandle.current().pid(), posix.processId());
    assertEquals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"), posix.effectiveUserId());
  }

  @Test
  @DisplayName("the host name is the kernel's")
  void hostname() throws Exception {
    assertEquals(Files.readString(Path.of("/proc/sys/kernel/hostname")).strip(), posix.hostname());
  }

  @Test
  @DisplayName("SEED-16 a host name set in a namespace is seen there and nowhere else")
  void seed16_hostnameInNamespace() throws Exception {
    assumeNamespaces();
    String before = posix.hostname();

    inThread(
        () -> {
          separate();
          posix.setHostname("metropolis-test");
          assertEquals("metropolis-test", posix.hostname());
        });

    assertEquals(before, posix.hostname());
  }

  @Test
  @DisplayName("a tmpfs can be mounted, written and unmounted in a namespace")
  void mount() throws Exception {
    assumeNamespaces();
    inThread(
        () -> {
          separate();
          posix.mount(
              "tmpfs",
              directory,
              "tmpfs",
              EnumSet.of(MountFlag.NO_EXEC, MountFlag.NO_DEV),
              "size=1m");
          Files.writeString(directory.resolve("inside"), "x");
          assertTrue(mounts().contains(" " + directory + " "), "mounted");

          posix.unmount(directory, Set.of());

          assertFalse(mounts().contains(" " + directory + " "), "unmounted");
        });
    assertFalse(Files.exists(directory.resolve("inside")), "the file was on the tmpfs alone");
  }

  /** /proc/self is the process; its main thread never left. */
  private static String mounts() throws Exception {
    return Files.readString(Path.of("/proc/thread-self/mountinfo"));
  }

  @Test
  @DisplayName("a busy mount says EBUSY and goes with DETACH")
  void unmountBusy() throws Exception {
    assumeNamespaces();
    inThread(
        () -> {
          separate();
          posix.mount("tmpfs", directory, "tmpfs", Set.of(), "");
          try (var open = Files.newOutputStream(directory.resolve("open"))) {
            open.write(1);
            PosixException busy =
                assertThrows(PosixException.class, () -> posix.unmount(directory, Set.of()));
            assertEquals("EBUSY", busy.errno());
            posix.unmount(directory, EnumSet.of(UnmountFlag.DETACH));
          }
          assertFalse(mounts().contains(" " + directory + " "), "detached");
        });
  }

  @Test
  @DisplayName("a refused mount names call, arguments, errno and remedy")
  void mountRefused() {
    Path missing = directory.resolve("missing");

    PosixException refused =
        assertThrows(
            PosixException.class, () -> posix.mount("x", missing, "tmpfs", Set.of(), "size=1m"));

    // The kernel looks at the target before it looks at the caller.
    assertEquals("ENOENT", refused.errno());
    assertEquals("mount", refused.call());
    assertTrue(refused.getMessage().contains(missing.toString()), refused.getMessage());
    assertTrue(refused.getMessage().contains("size=1m"), refused.getMessage());
    assertTrue(refused.getMessage().contains("; "), refused.getMessage());
  }

  @Test
  @DisplayName("unmounting what is no mount is refused by name")
  void unmountRefused() {
    PosixException refused =
        assertThrows(PosixException.class, () -> posix.unmount(directory, Set.of()));

    assertEquals(posix.effectiveUserId() == 0 ? "EINVAL" : "EPERM", refused.errno());
  }

  @Test
  @DisplayName("a host name beyond 64 bytes is refused before the kernel is asked")
  void hostnameTooLong() {
    PosixException refused =
        assertThrows(PosixException.class, () -> posix.setHostname("x".repeat(65)));

    assertEquals("ENAMETOOLONG", refused.errno());
  }

  @Test
  @DisplayName("unshare is refused on a virtual thread")
  void unshareOnVirtualThread() throws Exception {
    var refused = new CompletableFuture<Throwable>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                posix.unshare(Set.of(Namespace.HOSTNAME));
                refused.complete(new AssertionError("unshare was allowed"));
              } catch (IllegalStateException expected) {
                refused.complete(expected);
              }
            });

    assertEquals(IllegalStateException.class, refused.get(10, TimeUnit.SECONDS).getClass());
  }

  @Test
  @DisplayName("a process that is no child cannot be reaped")
  void reapStranger() {
    PosixException refused = assertThrows(PosixException.class, () -> posix.reap(1));

    assertEquals("ECHILD", refused.errno());
  }
}
