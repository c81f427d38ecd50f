#!/bin/sh
# In a fresh Debian root without a compiler: Python's package and the command, and the wheel.
set -eu
cd /packages
apt-get update -qq
install() { DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" > /dev/null; }

install ./libholdfast0_*.deb ./python3-holdfast_*.deb ./holdfast_*.deb ./libholdfast-doc_*.deb
! command -v cc && ! command -v swift
mkdir /programs && cd /programs
sed -n '/^```python$/,/^```$/p' /packages/README.md | sed '1d;/^```$/,$d' > app.py
said="Song(id='s1', title='Gloria', plays=3)"
[ "$(python3 app.py)" = "$said" ]
holdfast --format lines get music.db songs s1 | grep -q '"title":"Gloria"'
mkdir autopkgtest
AUTOPKGTEST_TMP=/programs/autopkgtest sh /packages/program-in-python | grep -q '"title":"Gloria"'
zcat /usr/share/man/man1/holdfast.1.gz | grep -q 'holdfast get'
grep -q _holdfast /usr/share/bash-completion/completions/holdfast
grep -q _holdfast /usr/share/zsh/vendor-completions/_holdfast
apt-get purge -qq -y holdfast python3-holdfast libholdfast0 libholdfast-doc > /dev/null
apt-get autopurge -qq -y > /dev/null
! python3 -c 'import holdfast' 2> /dev/null

install python3-venv
python3 -m venv wheel
wheel/bin/pip install --quiet --no-index /packages/*.whl
[ "$(wheel/bin/python app.py)" = "$said" ]
wheel/bin/python /packages/beside_sqlite.py /programs
echo "Python does"
