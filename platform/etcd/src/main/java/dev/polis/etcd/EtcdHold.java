package dev.polis.etcd;

import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Holds the writes of clients while their member of etcd starts again, since the end of the member
 * would leave a write under way without an answer. Thread-safe.
 */
public final class EtcdHold {

  /** Holds nothing; the hold of an access without another one. */
  public static final EtcdHold NONE = new EtcdHold();

  private int underWay; // guarded by this
  private boolean held; // guarded by this

  /**
   * Holds further writes until {@link #release}, and waits for the answers of those under way.
   *
   * @return false if some have no answer in this time
   */
  public synchronized boolean hold(Duration within) throws InterruptedException {
    if (this == NONE) {
      throw new IllegalStateException("this hold is of all accesses without one; make another");
    }
    held = true;
    long end = System.nanoTime() + within.toNanos();
    while (underWay > 0 && System.nanoTime() - end < 0) {
      TimeUnit.NANOSECONDS.timedWait(this, end - System.nanoTime());
    }
    return underWay == 0;
  }

  /** Sends the held writes, and holds none from now on. */
  public synchronized void release() {
    held = false;
    notifyAll();
  }

  /** Begins a write, once none is held; returns false if that takes longer than to the deadline. */
  synchronized boolean enter(long deadline) throws InterruptedException {
    while (held) {
      long left = deadline - System.nanoTime();
      if (left <= 0) {
        return false;
      }
      TimeUnit.NANOSECONDS.timedWait(this, left);
    }
    underWay++;
    return true;
  }

  /** Records the end of a write. */
  synchronized void leave() {
    underWay--;
    notifyAll();
  }
}
