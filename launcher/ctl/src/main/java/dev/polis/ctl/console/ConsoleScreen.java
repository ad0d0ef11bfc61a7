package dev.polis.ctl.console;

import dev.polis.ctl.console.ConsoleState.Prompt;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.pki.RecoveryKey;
import java.io.IOError;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jline.terminal.Attributes;
import org.jline.terminal.Attributes.LocalFlag;
import org.jline.terminal.Size;
import org.jline.terminal.Terminal;
import org.jline.terminal.Terminal.Signal;
import org.jline.utils.AttributedString;
import org.jline.utils.Display;
import org.jline.utils.InfoCmp.Capability;
import org.jline.utils.NonBlockingReader;

/** Draws the page of a node on a terminal again and again, and does what the keys ask for. */
final class ConsoleScreen {

  /** A person sees a change, or the answer to a key, within this time. */
  private static final Duration TICK = Duration.ofMillis(200);

  private static final Duration ASK_AGAIN = Duration.ofSeconds(1);

  /** Messages of the kernel and of init go to the same terminal; the page covers them again. */
  private static final Duration COVER = Duration.ofSeconds(10);

  /** Characters of a pasted text follow each other faster, keys of a person do not. */
  private static final long PASTED = 50;

  /** A line of a key in PEM has 64 characters; a longer answer is none that this page asks for. */
  private static final int LONGEST_ANSWER = 256;

  private static final int ESCAPE = 27;
  private static final int BACKSPACE = 8;
  private static final int DELETE = 127;
  private static final int REDRAW = 'L' - '@';
  private static final int INTERRUPT = 'C' - '@';

  private final Terminal terminal;
  private final ConsoleNode node;
  private final Clock clock;
  private final Path recoveryKeyOrNull;
  private final boolean stays;

  private final AtomicBoolean resized = new AtomicBoolean(true);
  private volatile ConsoleFacts.Asked asked;

  private ConsoleLog log;
  private Future<?> following;
  private boolean logOnly;
  private Prompt prompt = Prompt.NONE;
  private final StringBuilder typed = new StringBuilder();
  private String note = "";
  private boolean pasting;

  /**
   * @param recoveryKey where a typed recovery key is written; empty if none is asked for
   * @param stays whether no key ends the page
   */
  ConsoleScreen(
      Terminal terminal, ConsoleNode node, Clock clock, Optional<Path> recoveryKey, boolean stays) {
    this.terminal = terminal;
    this.node = node;
    this.clock = clock;
    this.recoveryKeyOrNull = recoveryKey.orElse(null);
    this.stays = stays;
    asked = new ConsoleFacts.Asked("…", "…", clock.instant(), new ConsoleFacts.Unasked());
  }

  /** Shows the page until a key ends it, the terminal is gone, or this thread is interrupted. */
  void run() throws InterruptedException {
    ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    try {
      onTerminal(threads);
    } catch (IOException | IOError | IllegalStateException gone) {
      // A terminal that is gone is the end of its page, as it is for every program.
      note = gone.getMessage();
    } finally {
      threads.shutdownNow();
      threads.close();
    }
  }

  private void onTerminal(ExecutorService threads) throws IOException, InterruptedException {
    Attributes before = terminal.enterRawMode();
    Terminal.SignalHandler resizing = terminal.handle(Signal.WINCH, _ -> resized.set(true));
    try {
      // Ctrl-C is a key: its signal would end the process before the terminal is restored.
      Attributes raw = terminal.getAttributes();
      raw.setLocalFlag(LocalFlag.ISIG, false);
      terminal.setAttributes(raw);
      terminal.puts(Capability.enter_ca_mode);
      terminal.puts(Capability.cursor_invisible);
      threads.submit(this::ask);
      show("", threads);
      draw(threads);
    } finally {
      terminal.puts(Capability.clear_screen);
      terminal.puts(Capability.cursor_normal);
      terminal.puts(Capability.exit_ca_mode);
      terminal.flush();
      terminal.handle(Signal.WINCH, resizing);
      terminal.setAttributes(before);
    }
  }

  private Void ask() throws InterruptedException {
    while (true) {
      try {
        String name = node.name();
        String address = node.address();
        ConsoleFacts facts = node.facts();
        asked = new ConsoleFacts.Asked(name, address, clock.instant(), facts);
      } catch (RuntimeException defect) {
        String why = "the node cannot be asked, for a defect of this program: " + defect;
        asked =
            new ConsoleFacts.Asked(
                asked.node(), asked.address(), clock.instant(), new ConsoleFacts.Silence(why));
      }
      Thread.sleep(ASK_AGAIN);
    }
  }

  /** Follows the log of another part in place of the present one. */
  private void show(String part, ExecutorService threads) {
    if (following != null) {
      following.cancel(true);
    }
    ConsoleLog next = new ConsoleLog(node, part, clock);
    following =
        threads.submit(
            () -> {
              next.follow();
              return null;
            });
    log = next;
  }

  private void draw(ExecutorService threads) throws IOException, InterruptedException {
    Display display = new Display(terminal, true);
    Size size = terminal.getSize();
    long covered = System.nanoTime();
    List<AttributedString> drawn = List.of();
    while (true) {
      if (Thread.interrupted()) {
        throw new InterruptedException("the page was interrupted");
      }
      boolean cover = System.nanoTime() - covered >= COVER.toNanos();
      if (resized.getAndSet(false) || cover) {
        display.clear();
        size = resize(display, size);
        covered = System.nanoTime();
        drawn = List.of();
      }
      List<AttributedString> page = ConsolePage.lines(state(), size.getColumns(), size.getRows());
      if (!page.equals(drawn)) {
        display.update(page, 0);
        drawn = page;
      }
      int key = terminal.reader().read(TICK.toMillis());
      if (key == NonBlockingReader.EOF || !pressed(key, threads)) {
        return;
      }
    }
  }

  private Size resize(Display display, Size former) {
    try {
      Size size = terminal.getSize();
      display.resize(size);
      return size;
    } catch (IOError unknown) {
      return former; // its program cannot be started, perhaps for want of memory
    }
  }

  ConsoleState state() {
    return new ConsoleState(
        clock.instant(),
        asked,
        log.part(),
        log.last(),
        logOnly,
        prompt,
        prompt == Prompt.RECOVERY_KEY ? "*".repeat(typed.length()) : typed.toString(),
        note,
        keys());
  }

  private String keys() {
    List<String> keys = new ArrayList<>();
    keys.add(logOnly ? "s status" : "l log alone");
    keys.add("p log of a part");
    if (recoveryKeyOrNull != null) {
      keys.add("r recovery key");
    }
    if (!stays) {
      keys.add("q quit");
    }
    return String.join(" · ", keys);
  }

  /** Does what a key asks for. Returns whether the page continues. */
  private boolean pressed(int key, ExecutorService threads) throws IOException {
    if (key == NonBlockingReader.READ_EXPIRED) {
      pasting = false;
      return true;
    }
    if (key == REDRAW) {
      resized.set(true);
      return true;
    }
    if (key == INTERRUPT) {
      return stays;
    }
    boolean pasted = terminal.reader().peek(PASTED) >= 0;
    boolean last = pasting && !pasted;
    pasting = pasted;
    if (prompt != Prompt.NONE) {
      answer(key, threads);
      return true;
    }
    if (pasted || last) {
      // Its characters are no commands: it may be a recovery key, and q would give a shell the
      // rest.
      if (last && note.isEmpty()) {
        note = "a pasted text is no command: first press the key that asks for it";
      }
      return true;
    }
    if ("lspr".indexOf(key) >= 0) {
      note = "";
    }
    switch (key) {
      case 'q' -> {
        return stays;
      }
      case 'l' -> logOnly = true;
      case 's' -> logOnly = false;
      case 'p' -> prompt = Prompt.PART;
      case 'r' -> prompt = recoveryKeyOrNull != null ? Prompt.RECOVERY_KEY : Prompt.NONE;
      default -> {
        // A key without a meaning, such as the last line of a PEM text that was pasted.
      }
    }
    return true;
  }

  private void answer(int key, ExecutorService threads) throws IOException {
    switch (key) {
      case ESCAPE -> {
        // The keys for cursor and functions are escapes with more characters behind them.
        while (terminal.reader().peek(1) >= 0) {
          terminal.reader().read();
        }
        pasting = false;
        leave();
      }
      case '\r', '\n' -> entered(threads);
      case BACKSPACE, DELETE -> typed.setLength(Math.max(0, typed.length() - 1));
      default -> {
        if (key >= ' ' && typed.length() < LONGEST_ANSWER) {
          typed.appendCodePoint(key);
        }
      }
    }
  }

  private void leave() {
    prompt = Prompt.NONE;
    for (int i = 0; i < typed.length(); i++) {
      typed.setCharAt(i, ' ');
    }
    typed.setLength(0);
  }

  private void entered(ExecutorService threads) {
    String line = typed.toString().strip();
    if (prompt == Prompt.PART) {
      leave();
      // The names of all parts begin with the root of the tree.
      show(line.isEmpty() || line.matches("root(\\..*)?") ? line : "root." + line, threads);
      return;
    }
    if (line.isEmpty() || line.startsWith("-----")) {
      // A whole PEM text was pasted; its middle line counts.
      typed.setLength(0);
      return;
    }
    leave();
    note = keep(line, recoveryKeyOrNull);
  }

  /** Writes a recovery key for the next start of the node; returns what came of it. */
  private static String keep(String line, Path to) {
    byte[] der;
    try {
      der = Base64.getDecoder().decode(line);
    } catch (IllegalArgumentException e) {
      return "this is no recovery key (r asks again): it has characters that no key has";
    }
    String pem = Pem.encode("PRIVATE KEY", der);
    Arrays.fill(der, (byte) 0);
    try {
      String name = HexFormat.of().formatHex(RecoveryKey.publicKey(pem));
      CtlFiles.write(to, pem.getBytes(StandardCharsets.US_ASCII));
      return "written for the next start of the node: the recovery key %s".formatted(name);
    } catch (PkiException e) {
      return "this is no recovery key (r asks again): %s".formatted(e.getMessage());
    } catch (CtlException e) {
      return e.getMessage();
    }
  }
}
