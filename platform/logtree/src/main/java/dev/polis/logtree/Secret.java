package dev.polis.logtree;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import javax.security.auth.Destroyable;

/**
 * Holds bytes that must not be printed: keys, tickets, passwords. {@link #toString} shows only
 * their number, so that a secret cannot get into a log as an argument, a record component or an
 * element of a list. Safe for use by any thread.
 */
public final class Secret implements AutoCloseable, Destroyable {
  private final byte[] bytes;
  private boolean destroyed;

  private Secret(byte[] bytes) {
    this.bytes = bytes;
  }

  /** Returns a secret with a copy of the bytes; the caller wipes the given array. */
  public static Secret of(byte[] bytes) {
    return new Secret(bytes.clone());
  }

  /** Returns a secret with the text as UTF-8. */
  public static Secret of(String text) {
    return new Secret(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Returns a secret with a copy of the bytes, and wipes the given array. */
  public static Secret take(byte[] bytes) {
    Secret secret = of(bytes);
    Arrays.fill(bytes, (byte) 0);
    return secret;
  }

  /**
   * Returns a copy of the bytes, which the caller wipes.
   *
   * @throws IllegalStateException if the secret is destroyed
   */
  public synchronized byte[] reveal() {
    requireAlive();
    return bytes.clone();
  }

  /** Returns the number of bytes. */
  public int length() {
    return bytes.length;
  }

  /** Wipes the bytes; a second call does nothing. */
  @Override
  public synchronized void destroy() {
    Arrays.fill(bytes, (byte) 0);
    destroyed = true;
  }

  @Override
  public synchronized boolean isDestroyed() {
    return destroyed;
  }

  /** Destroys the secret, as {@link #destroy} does. */
  @Override
  public void close() {
    destroy();
  }

  /** Compares in a time that is independent of the content; a destroyed secret equals no other. */
  @Override
  public boolean equals(Object other) {
    if (this == other) {
      return true;
    }
    if (!(other instanceof Secret that) || isDestroyed() || that.isDestroyed()) {
      return false;
    }
    byte[] theirs = that.snapshot();
    try {
      return MessageDigest.isEqual(snapshot(), theirs);
    } finally {
      Arrays.fill(theirs, (byte) 0);
    }
  }

  /** Depends only on the length, since a hash of the content would reveal part of it. */
  @Override
  public int hashCode() {
    return bytes.length;
  }

  @Override
  public synchronized String toString() {
    return destroyed ? "<secret destroyed>" : "<secret " + bytes.length + " bytes>";
  }

  private synchronized byte[] snapshot() {
    return bytes.clone();
  }

  private void requireAlive() {
    if (destroyed) {
      throw new IllegalStateException(
          "secret of " + bytes.length + " bytes was destroyed; reveal it before its owner ends");
    }
  }
}
