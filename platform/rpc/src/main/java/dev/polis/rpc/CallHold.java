package dev.polis.rpc;

import java.util.concurrent.atomic.AtomicInteger;

/** How many calls wait for a provider, on all listeners of a host together. */
final class CallHold {
  private final int most;
  private final AtomicInteger now = new AtomicInteger();

  CallHold(int most) {
    this.most = most;
  }

  /** Takes a place, if there is one. */
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
