package dev.polis.curator.record;

import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdClosedException;
import dev.polis.etcd.EtcdWatch;
import dev.polis.etcd.WatchOptions;
import dev.polis.logtree.Log;
import java.time.Duration;

/**
 * Watches all records in etcd and adds the writes of other nodes to the leader's memory. Its
 * creator closes it.
 */
public final class RecordWatch implements AutoCloseable {

  /** The pause before a failed watch is opened again. */
  private static final Duration REOPEN = Duration.ofSeconds(1);

  private final EtcdClient etcd;
  private final RecordMemory memory;
  private final Log log;
  private final Thread thread;

  /** Starts watching. */
  public RecordWatch(EtcdClient etcd, RecordMemory memory, Log log) {
    this.etcd = etcd;
    this.memory = memory;
    this.log = log;
    this.thread = Thread.ofVirtual().name("curator record watch").start(this::run);
  }

  private void run() {
    try {
      while (true) {
        follow();
        Thread.sleep(REOPEN);
      }
    } catch (EtcdClosedException | InterruptedException over) {
      // The leadership has ended, and with it the memory.
      Thread.currentThread().interrupt();
    }
  }

  private void follow() throws InterruptedException {
    try (EtcdWatch watch = etcd.watch(RecordKeys.RECORDS, WatchOptions.snapshot())) {
      while (true) {
        memory.watched(watch.next());
      }
    } catch (EtcdClosedException over) {
      throw over;
    } catch (RuntimeException failed) {
      // Meanwhile changes by others are unseen, so the next read goes to etcd.
      memory.distrust();
      log.error(
          "The curator cannot watch its records, and tries again in %d s: %s",
          REOPEN.toSeconds(), failed.getMessage(), failed);
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
