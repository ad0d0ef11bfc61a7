package dev.polis.ctl.session;

import dev.polis.files.layout.Root;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads the listeners of a node on this machine from the node's state directory.
 *
 * @param state the state directory; empty for a node that is elsewhere
 * @param all none if no node runs there
 */
public record CtlListeners(String state, List<Listener> all) {

  /** The listeners of a node that is elsewhere, of which nothing is known. */
  static final CtlListeners UNKNOWN = new CtlListeners("", List.of());

  private static final Pattern LINE =
      Pattern.compile(
          "(?<name>\\S+) (?<host>\\S+):(?<port>\\d{1,5}) (?<state>open|closed) ?(?<detail>.*)");

  /**
   * One listener.
   *
   * @param name its name: curator, management or debug
   * @param address where it is or will be
   * @param open whether it accepts connections
   * @param detail why not; empty if it does
   */
  record Listener(String name, InetSocketAddress address, boolean open, String detail) {}

  /**
   * Reads what a node wrote.
   *
   * @param layout its state directory
   * @return none if no node runs there
   */
  static CtlListeners of(Root layout) {
    Path file = layout.ephemeral().listeners().path();
    CtlListeners none = new CtlListeners(layout.path().toString(), List.of());
    if (NamedProcess.of(layout.lock().path()) == NamedProcess.ENDED) {
      // What it wrote of its listeners stayed behind; another node may be there now.
      return none;
    }
    try {
      return new CtlListeners(
          none.state(),
          Files.readAllLines(file).stream().map(line -> listener(file, line)).toList());
    } catch (NoSuchFileException e) {
      return none;
    } catch (IOException e) {
      throw new CtlException(file + " cannot be read: " + e + "; give --endpoint HOST", e);
    }
  }

  private static Listener listener(Path file, String line) {
    Matcher matcher = LINE.matcher(line);
    if (!matcher.matches()) {
      throw new CtlException(
          "%s is damaged: \"%s\" is not a listener; give --endpoint HOST".formatted(file, line));
    }
    return new Listener(
        matcher.group("name"),
        new InetSocketAddress(
            InetAddress.ofLiteral(matcher.group("host")), Integer.parseInt(matcher.group("port"))),
        matcher.group("state").equals("open"),
        matcher.group("detail"));
  }

  /** Returns whether the node has its state directory here and does not run. */
  public boolean nodeIsDown() {
    return !state.isEmpty() && all.isEmpty();
  }

  Optional<Listener> named(String name) {
    return all.stream().filter(listener -> listener.name().equals(name)).findFirst();
  }

  /** Returns whether this very node does not listen there; another program may. */
  boolean areClosed(InetSocketAddress address) {
    return nodeIsDown() || atPort(address.getPort()).filter(each -> !each.open()).isPresent();
  }

  /** Returns whether one of them is at this address; one that is bound to all addresses is. */
  boolean has(InetSocketAddress address) {
    return atPort(address.getPort())
        .map(listener -> listener.address().getAddress())
        .filter(here -> here.isAnyLocalAddress() || here.equals(address.getAddress()))
        .isPresent();
  }

  Optional<Listener> atPort(int port) {
    return all.stream().filter(listener -> listener.address().getPort() == port).findFirst();
  }
}
