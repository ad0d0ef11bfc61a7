package dev.polis.network;

import dev.polis.files.FileException;
import dev.polis.network.DhcpClient.Output;
import dev.polis.supervision.Context;
import java.io.IOException;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Runs the DHCP client of one interface: it sends, receives, and applies leases by ip. */
final class DhcpLink {

  /** The time between two looks at the carrier of a card without a lease; each one runs ip. */
  private static final Duration LOOK = Duration.ofSeconds(2);

  private final String name;
  private final DhcpLinks links;
  private final boolean keepMtu;

  /**
   * @param name the interface
   * @param links the organ's clients, with what they share
   * @param keepMtu true if the configuration, not the server, decides about the largest packet
   */
  DhcpLink(String name, DhcpLinks links, boolean keepMtu) {
    this.name = name;
    this.links = links;
    this.keepMtu = keepMtu;
  }

  /** Holds what changes while the client runs. */
  private final class Run {
    private final Context context;
    private final DhcpTransport transport;
    private final DhcpClient client;
    private final InterfaceSetup.Card card;
    private Instant withoutLease = links.now();
    private Instant nextLook = links.now();
    private boolean carrier;
    private String trouble = "";

    Run(Context context, InterfaceSetup.Card card, DhcpTransport transport, DhcpClient client) {
      this.context = context;
      this.card = card;
      this.transport = transport;
      this.client = client;
    }

    void step() throws IOException, InterruptedException {
      if (client.lease().isEmpty() && !links.now().isBefore(nextLook)) {
        look();
      }
      transport.use(client.channel());
      perform(client.tick(links.now()));
      publish();
      transport.use(client.channel());
      Duration wait = Duration.between(links.now(), client.wakeup());
      if (wait.isPositive()) {
        receive(wait.compareTo(LOOK) < 0 ? wait : LOOK);
      }
    }

    /** Asks at once on a link that has got a carrier. */
    private void look() throws IOException, InterruptedException {
      boolean connected = links.setup().card(name).carrier();
      if (connected && !carrier) {
        client.hurry(links.now());
      }
      carrier = connected;
      nextLook = links.now().plus(LOOK);
    }

    private void receive(Duration atMost) throws IOException, InterruptedException {
      Optional<byte[]> bytes = transport.receive(atMost);
      if (bytes.isPresent()) {
        try {
          perform(client.receive(DhcpMessage.answer(bytes.get()), links.now()));
        } catch (IllegalArgumentException malformed) {
          drop("a message " + malformed.getMessage());
        }
      }
    }

    private void perform(List<Output> outputs) throws IOException, InterruptedException {
      for (Output output : outputs) {
        switch (output) {
          case Output.Send(DhcpMessage message) -> send(message);
          case Output.Dropped(String reason) -> drop(reason);
          case Output.Obtained(DhcpLease lease) -> {
            trouble = "";
            // First: a node that ends now asks for this address again.
            store(Optional.of(lease));
            links.apply(name, card.index(), Optional.of(lease), keepMtu);
            context.log().info("%s has the address %s", name, lease);
          }
          case Output.Lost(String reason) -> {
            trouble = "";
            withoutLease = links.now();
            links.apply(name, card.index(), Optional.empty(), keepMtu);
            store(Optional.empty());
            context.log().warning("%s has no DHCP lease any more: %s", name, reason);
          }
        }
      }
    }

    /** Sends a message; a failure counts as a lost message, which the client repeats. */
    private void send(DhcpMessage message) {
      try {
        transport.send(message.encoded());
      } catch (IOException e) {
        note("the last request could not be sent: " + e.getMessage());
      }
    }

    /** Notes an unusable answer, which anyone on the link can send. */
    private void drop(String reason) {
      note("dropped " + reason);
    }

    /**
     * Notes the first trouble since the lease changed, so that a flood fills neither log nor
     * health.
     */
    private void note(String text) {
      if (trouble.isEmpty()) {
        context.log().warning("DHCP on %s: %s", name, text);
        trouble = text;
      }
    }

    private void store(Optional<DhcpLease> lease) {
      try {
        links.file().store(name, lease, links.now());
      } catch (FileException e) {
        // The address works without it; only the next start asks for any address.
        note("the lease could not be stored: " + e.getMessage());
      }
    }

    private void publish() {
      DhcpClient.State state = client.state();
      links.publish(
          client
              .lease()
              .<DhcpStatus>map(
                  held -> new DhcpStatus.Leased(name, state, client.since(), held, trouble))
              .orElseGet(
                  () -> new DhcpStatus.Without(name, state, withoutLease, carrier, trouble)));
    }
  }

  /**
   * Runs until the end of the task.
   *
   * @param adopts true if another instance of the organ gave its leases: if the interface has the
   *     address, the client asks nothing before the time of renewal
   */
  void run(Context context, boolean adopts) throws IOException, InterruptedException {
    links.setup().start(name);
    InterfaceSetup.Card card = links.setup().card(name);
    Optional<DhcpLease> stored = links.file().find(name, links.now());
    DhcpClient client =
        new DhcpClient(card.hardware(), links::hostName, new SecureRandom(), stored, links.now());
    // The former instance may have ended before a server confirmed the stored lease.
    if (adopts && stored.isPresent() && links.setup().hasLeased(name, stored.get().address())) {
      client.adopt();
    }
    try (DhcpTransport transport = new DhcpTransport(card.index())) {
      Run run = new Run(context, card, transport, client);
      while (!context.cancelled()) {
        run.step();
      }
    } finally {
      links.withdraw(name);
    }
  }
}
