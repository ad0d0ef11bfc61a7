package dev.polis.etcd;

import io.netty.handler.ssl.DelegatingSslContext;
import io.netty.handler.ssl.SslContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;

/**
 * Restricts key agreement to X25519. Java's TLS would make a key pair on P-256 for each connection
 * as well, in case the other side has no X25519, and tables for that curve before the first. Every
 * etcd has X25519, but one that Go runs in FIPS 140 mode, which refuses it.
 */
final class EtcdSslContext extends DelegatingSslContext {
  private static final String[] GROUPS = {"x25519"};

  EtcdSslContext(SslContext context) {
    super(context);
  }

  @Override
  protected void initEngine(SSLEngine engine) {
    SSLParameters parameters = engine.getSSLParameters();
    parameters.setNamedGroups(GROUPS);
    engine.setSSLParameters(parameters);
  }
}
