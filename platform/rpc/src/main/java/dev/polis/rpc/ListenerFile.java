package dev.polis.rpc;

import dev.polis.base.values.Value;
import dev.polis.base.values.Values;
import dev.polis.files.AtomicFile;
import dev.polis.files.Mode;
import dev.polis.logtree.Log;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Writes the addresses of the listeners to a file, for clients on this machine. Each has a line,
 * {@code NAME ADDRESS:PORT open} or {@code NAME ADDRESS:PORT closed REASON}. The file is there as
 * long as this is open.
 */
final class ListenerFile implements AutoCloseable {
  private final Path file;
  private final Value<List<RpcListenerStatus>> listeners;
  private final Log log;
  private final Thread writer;

  private ListenerFile(Path file, Value<List<RpcListenerStatus>> listeners, Log log) {
    this.file = file;
    this.listeners = listeners;
    this.log = log;
    this.writer = Thread.ofVirtual().name("rpc-listener-file").unstarted(this::run);
  }

  /** Begins to write; the caller closes it. */
  static ListenerFile open(Path file, Value<List<RpcListenerStatus>> listeners, Log log) {
    ListenerFile opened = new ListenerFile(file, listeners, log);
    opened.writer.start();
    return opened;
  }

  private void run() {
    try {
      Values.follow(listeners, this::write);
    } catch (InterruptedException closed) {
      remove();
    } catch (Exception e) {
      log.error("%s is not kept up to date any more: %s", file, e);
    }
  }

  /** Writes the file; a full disk does not stop the listeners. */
  private void write(List<RpcListenerStatus> all) {
    String text = all.stream().map(ListenerFile::line).collect(Collectors.joining());
    try {
      AtomicFile.replace(
          file, text.getBytes(StandardCharsets.UTF_8), Mode.PUBLIC, AtomicFile.Durability.PROCESS);
    } catch (IOException e) {
      log.error("cannot write where the listeners are to %s: %s", file, e);
    }
  }

  private static String line(RpcListenerStatus status) {
    String state = status.open() ? "open" : "closed " + status.detail().replace('\n', ' ');
    return "%s %s %s%n".formatted(status.name(), status.address(), state);
  }

  private void remove() {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      log.error("cannot remove %s, which names listeners that are closed: %s", file, e);
    }
  }

  /** Stops writing and removes the file; an interrupted caller keeps its interrupt. */
  @Override
  public void close() {
    writer.interrupt();
    try {
      writer.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
