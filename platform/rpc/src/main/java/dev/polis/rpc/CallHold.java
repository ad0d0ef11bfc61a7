package dev.polis.rpc;

import java.util.concurrent.atomic.AtomicInteger;

/** Limits how many calls may wait for an absent provider, on all listeners of a host together. */
final class CallHold {
  private final int most;
  private final AtomicInteger now = new AtomicInteger();

  CallHold(int most) {
    this.most = most;
  }

  /** Takes a place for a waiting call; returns false if none is free. */
  boolean take() {
    int taken;
    do {
      taken = now.get();
      if (taken >= most) {
        return false;
      }
    } while (!now.compareAndSet(taken, taken + 1));
    return true;
  }

  void giveBack() {
    now.decrementAndGet();
  }

  int now() {
    return now.get();
  }
}
