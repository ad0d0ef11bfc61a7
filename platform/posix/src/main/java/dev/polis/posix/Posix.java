package dev.polis.posix;

import dev.polis.posix.jnr.JnrPosix;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import org.osgi.annotation.versioning.ProviderType;

/**
 * System calls that Java lacks, as a service. Nothing native is loaded before the first call. Every
 * method may be called from any thread; a refusal by the kernel is a {@link PosixException}.
 */
@ProviderType
public interface Posix {
  /** The kernel we run on, for use outside the framework. */
  static Posix system() {
    return new JnrPosix();
  }

  /**
   * mount(2).
   *
   * @param source device, or any word for file systems without one
   * @param target an existing directory
   * @param type the file system, such as {@code tmpfs}; empty when remounting or changing
   *     propagation
   * @param flags options that the kernel knows
   * @param data options that the file system knows, comma-separated; may be empty
   */
  void mount(String source, Path target, String type, Set<MountFlag> flags, String data);

  /** umount2(2). */
  void unmount(Path target, Set<UnmountFlag> flags);

  /** The host name of the calling thread's namespace. */
  String hostname();

  /**
   * sethostname(2).
   *
   * @param name at most 64 bytes
   */
  void setHostname(String name);

  /** geteuid(2); 0 is root. */
  int effectiveUserId();

  /** getpid(2). */
  int processId();

  /**
   * unshare(2): moves the calling thread alone into new namespaces. Only for a platform thread that
   * the caller made for it and ends afterwards: the namespace belongs to the thread, and a pooled
   * or virtual one would take it elsewhere.
   *
   * @throws IllegalStateException on a virtual thread
   */
  void unshare(Set<Namespace> namespaces);

  /**
   * waitpid(2) without waiting: collects a child that has ended. A child started with {@link
   * ProcessBuilder} belongs to the JDK; collecting it here would take its exit code away.
   *
   * @param pid the child
   * @return how it ended, empty while it runs
   */
  Optional<Reaped> reap(long pid);

  /**
   * Collects any child that has ended. Only for the first process of a machine, and only while no
   * {@link Process} of the JDK runs.
   *
   * @return one that has ended; empty if there is none at present or no child at all
   */
  Optional<Reaped> reapAny();

  /** sync(2): starts and awaits the writing of all dirty data. */
  void sync();

  /** reboot(2): ends the machine at once, without sync. Returns only by throwing. */
  void reboot(RebootAction action);

  /**
   * A child that has ended.
   *
   * @param pid its process id
   * @param code its exit code; 128 + n if signal n killed it
   */
  record Reaped(long pid, int code) {}
}
