package dev.polis.node.organs;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Holds each carrier by a virtual thread that waits for a lock while it loads a class; the owner of
 * the lock then needs a carrier. Prints a line when all is held, and one when all have ended.
 */
final class PinnedCarriers extends ClassLoader implements Runnable {
  private final CountDownLatch owned = new CountDownLatch(1);
  private final CountDownLatch released = new CountDownLatch(1);
  private final Object lock = new Object();

  @Override
  public void run() {
    try {
      List<Thread> threads = new ArrayList<>();
      threads.add(Thread.ofVirtual().start(this::own));
      owned.await();
      for (int number = 0; number < Runtime.getRuntime().availableProcessors(); number++) {
        threads.add(Thread.ofVirtual().start(this::look));
      }
      while (threads.stream().skip(1).anyMatch(each -> each.getState() != Thread.State.BLOCKED)) {
        Thread.onSpinWait();
      }
      System.out.println("PINNED");
      released.countDown();
      for (Thread each : threads) {
        each.join();
      }
      System.out.println("RELEASED");
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  private void own() {
    synchronized (lock) {
      owned.countDown();
      try {
        released.await();
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void look() {
    try {
      Class.forName("none", false, this);
    } catch (ClassNotFoundException expected) {
      System.out.println("LOOKED");
    }
  }

  /** Waits for the lock below a call of the JVM, which keeps the carrier. */
  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    synchronized (lock) {
      throw new ClassNotFoundException(name);
    }
  }
}
