package dev.polis.posix.jnr;

import jnr.ffi.annotations.Out;
import jnr.ffi.types.size_t;
import jnr.ffi.types.u_int64_t;

/** The C functions, as jnr binds them; public because the classes it generates must see it. */
public interface LibC {
  /** mount(2). */
  int mount(String source, String target, String type, @u_int64_t long flags, String data);

  /** umount2(2). */
  int umount2(String target, int flags);

  /** gethostname(2). */
  int gethostname(@Out byte[] name, @size_t long length);

  /** sethostname(2). */
  int sethostname(byte[] name, @size_t long length);

  /** geteuid(2). */
  int geteuid();

  /** getpid(2). */
  int getpid();

  /** unshare(2). */
  int unshare(int flags);

  /** waitpid(2). */
  int waitpid(int pid, @Out int[] status, int options);

  /** sync(2). */
  void sync();

  /** reboot(2). */
  int reboot(int command);
}
