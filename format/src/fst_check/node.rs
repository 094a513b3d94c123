//! One node of an fst, parsed without trust.
//!
//! A node is written from its lowest byte up and read from its highest byte, its *address*, down. `SPEC.md` draws the
//! three layouts.

use super::{HEAD_BYTES, STRUCTURE};
use crate::FormatError;

/// The bytes that a one-transition node names by number, 1 for the first.
const COMMON: &[u8; 63] = b"te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG";
/// From this many transitions on, a node has a table from byte to transition.
const INDEXED: usize = 33;
/// Widest address or output in an fst of at most 64 KiB with at most 16,384 keys.
const WIDEST: usize = 2;

/// A step from a node to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transition {
    /// The byte of the key.
    pub(crate) input: u8,
    /// What the step adds to the ordinal.
    pub(crate) output: usize,
    /// Address of the next node; 0 is the final node without transitions.
    pub(crate) target: usize,
}

/// A parsed node: what it holds lies within the fst's bytes, and its targets below it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'a> {
    /// Its lowest byte.
    start: usize,
    /// Whether a key ends here.
    is_final: bool,
    shape: Shape<'a>,
}

/// The layouts, read.
#[derive(Debug, Clone, Copy)]
enum Shape<'a> {
    /// No transition and no bytes: address 0.
    End,
    /// One transition; `next` where it is written as "to the node just below".
    One { transition: Transition, next: bool, common: bool },
    /// Any other.
    Many(Many<'a>),
}

/// The parts of a node with many transitions, each in the reverse of their order.
#[derive(Debug, Clone, Copy)]
struct Many<'a> {
    /// A byte a transition.
    inputs: &'a [u8],
    /// Distance from the node's lowest byte down to the target, or 0 for target 0.
    targets: &'a [u8],
    /// Bytes of one distance.
    target_bytes: usize,
    /// Outputs.
    outputs: &'a [u8],
    /// Bytes of one output; 0 when all are 0.
    output_bytes: usize,
    /// Output of the key that ends here.
    final_output: usize,
    /// From byte to transition, for many transitions.
    index: Option<&'a [u8]>,
}

/// Takes bytes from the top of a slice downwards.
struct Down<'a> {
    bytes: &'a [u8],
}

impl<'a> Down<'a> {
    #[inline]
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (rest, taken) = self.bytes.split_at_checked(self.bytes.len().checked_sub(count)?)?;
        self.bytes = rest;
        Some(taken)
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    #[inline]
    fn number(&mut self, width: usize) -> Option<usize> {
        Some(number(self.take(width)?))
    }

    /// Address of the last byte taken.
    #[inline]
    fn at(&self) -> usize {
        self.bytes.len()
    }
}

/// A little-endian number of at most [`WIDEST`] bytes.
#[inline]
fn number(bytes: &[u8]) -> usize {
    match *bytes {
        [] => 0,
        [a] => usize::from(a),
        [a, b, ..] => usize::from(u16::from_le_bytes([a, b])),
    }
}

/// Bytes that a number needs, at least one.
fn width(number: usize) -> usize {
    if number < 256 { 1 } else { 2 }
}

impl<'a> Node<'a> {
    /// The node at `address` of an fst, or `None` where one of its bytes or targets would lie out of bounds.
    #[inline]
    pub(crate) fn parse(bytes: &'a [u8], address: usize) -> Option<Self> {
        if address == 0 {
            return Some(Self { start: 0, is_final: true, shape: Shape::End });
        }
        let mut down = Down { bytes: bytes.get(..address)? };
        let state = *bytes.get(address)?;
        let (is_final, shape) = if state & 0x80 != 0 {
            let (input, common) = match state & 0x3f {
                0 => (down.byte()?, false),
                number => (*COMMON.get(usize::from(number).checked_sub(1)?)?, true),
            };
            let next = state & 0x40 != 0;
            let (output, distance) = if next {
                (0, 1)
            } else {
                let (target_bytes, output_bytes) = widths(down.byte()?)?;
                let distance = down.number(target_bytes)?;
                (down.number(output_bytes)?, distance)
            };
            let target = target(down.at(), distance)?;
            (false, Shape::One { transition: Transition { input, output, target }, next, common })
        } else {
            let is_final = state & 0x40 != 0;
            (is_final, Shape::Many(Many::parse(&mut down, is_final, state & 0x3f)?))
        };
        Some(Self { start: down.at(), is_final, shape }).filter(|node| node.start >= HEAD_BYTES)
    }

    /// Its lowest byte.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Whether a key ends here.
    pub(crate) fn is_final(&self) -> bool {
        self.is_final
    }

    /// Transitions.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match &self.shape {
            Shape::End => 0,
            Shape::One { .. } => 1,
            Shape::Many(many) => many.inputs.len(),
        }
    }

    /// The `i`th transition, by ascending input; `None` past the last, or where the target would lie below 0.
    #[inline]
    pub(crate) fn transition(&self, i: usize) -> Option<Transition> {
        match &self.shape {
            Shape::End => None,
            Shape::One { transition, .. } => (i == 0).then_some(*transition),
            Shape::Many(many) => many.transition(i, self.start),
        }
    }

    /// Which transition takes `input`.
    #[inline]
    pub(crate) fn find(&self, input: u8) -> Option<usize> {
        match &self.shape {
            Shape::End => None,
            Shape::One { transition, .. } => (transition.input == input).then_some(0),
            Shape::Many(many) => many.find(input),
        }
    }

    /// The first transition with an input over `input`.
    pub(crate) fn find_above(&self, input: u8) -> Option<usize> {
        (0..self.len()).find(|&i| self.transition(i).is_some_and(|transition| transition.input > input))
    }

    /// Refuses all but the one way of writing this node; outputs and counts are not looked at.
    pub(super) fn check_form(&self, address: usize) -> Result<(), FormatError> {
        let fail = |expected, got| Err(FormatError::new(STRUCTURE, address, expected, got));
        match &self.shape {
            Shape::End => Ok(()),
            Shape::One { transition, next, common } => {
                if !common && COMMON.contains(&transition.input) {
                    fail("a common input by its number", "its byte")
                } else if *next {
                    Ok(())
                } else if transition.target == self.start.saturating_sub(1) {
                    fail("a step to the node below in its short form", "the long form")
                } else {
                    // The one transition of a node where no key ends has no key before it, so no output either.
                    let distance =
                        if transition.target == 0 { 0 } else { self.start.saturating_sub(transition.target) };
                    // Below the state byte: perhaps the input, the widths, the distance.
                    let bytes = width(distance).saturating_add(if *common { 1 } else { 2 });
                    let expected = address.saturating_sub(self.start) == bytes;
                    if expected {
                        Ok(())
                    } else {
                        fail("a distance in its shortest form and no output", "another form")
                    }
                }
            }
            Shape::Many(many) => many.check_form(self.start, self.is_final, address),
        }
    }
}

/// The two halves of a byte of widths: of distances and of outputs.
#[inline]
fn widths(byte: u8) -> Option<(usize, usize)> {
    let (targets, outputs) = (usize::from(byte >> 4), usize::from(byte & 0xf));
    ((1..=WIDEST).contains(&targets) && outputs <= WIDEST).then_some((targets, outputs))
}

/// The address `distance` below a node's lowest byte, where 0 means address 0.
#[inline]
fn target(start: usize, distance: usize) -> Option<usize> {
    if distance == 0 { Some(0) } else { start.checked_sub(distance).filter(|&target| target >= HEAD_BYTES) }
}

impl<'a> Many<'a> {
    #[inline]
    fn parse(down: &mut Down<'a>, is_final: bool, count: u8) -> Option<Self> {
        let count = match count {
            0 => match down.byte()? {
                1 => 256,
                count @ 64.. => usize::from(count),
                _ => return None,
            },
            count => usize::from(count),
        };
        let (target_bytes, output_bytes) = widths(down.byte()?)?;
        let index = if count >= INDEXED { Some(down.take(256)?) } else { None };
        let inputs = down.take(count)?;
        // Neither product can overflow: at most 256 × 2.
        let targets = down.take(count.saturating_mul(target_bytes))?;
        let outputs = down.take(count.saturating_mul(output_bytes))?;
        let final_output = if is_final { down.number(output_bytes)? } else { 0 };
        Some(Self { inputs, targets, target_bytes, outputs, output_bytes, final_output, index })
    }

    #[inline]
    fn transition(&self, i: usize, start: usize) -> Option<Transition> {
        let back = self.inputs.len().checked_sub(i.checked_add(1)?)?;
        let at = |bytes: &[u8], width: usize| {
            let from = back.checked_mul(width)?;
            bytes.get(from..from.checked_add(width)?).map(number)
        };
        Some(Transition {
            input: *self.inputs.get(back)?,
            output: at(self.outputs, self.output_bytes)?,
            target: target(start, at(self.targets, self.target_bytes)?)?,
        })
    }

    #[inline]
    fn find(&self, input: u8) -> Option<usize> {
        if let Some(index) = self.index {
            let i = usize::from(*index.get(usize::from(input))?);
            // 255 also stands for "none", so the input decides.
            let back = self.inputs.len().checked_sub(i.checked_add(1)?)?;
            return (self.inputs.get(back) == Some(&input)).then_some(i);
        }
        let back = self.inputs.iter().position(|&other| other == input)?;
        self.inputs.len().checked_sub(back.checked_add(1)?)
    }

    fn check_form(&self, start: usize, is_final: bool, address: usize) -> Result<(), FormatError> {
        let fail = |expected, got| Err(FormatError::new(STRUCTURE, address, expected, got));
        if !self.inputs.is_sorted_by(|later, earlier| later > earlier) {
            return fail("inputs that ascend", "others");
        }
        if self.inputs.len() == 1 && !is_final {
            return fail("a node of one transition in its own form", "the general form");
        }
        if self.final_output != 0 {
            return fail("a final output of 0", "another");
        }
        let (mut farthest, mut greatest) = (0, 0);
        for i in 0..self.inputs.len() {
            let Some(transition) = self.transition(i, start) else {
                return fail("a target below its node", "one out of bounds");
            };
            let distance = if transition.target == 0 { 0 } else { start.saturating_sub(transition.target) };
            farthest = farthest.max(distance);
            greatest = greatest.max(transition.output);
        }
        let output_bytes = if greatest == 0 { 0 } else { width(greatest) };
        if (self.target_bytes, self.output_bytes) != (width(farthest), output_bytes) {
            return fail("the least widths", "wider ones");
        }
        if let Some(index) = self.index {
            let mut expected = [u8::MAX; 256];
            for (i, &input) in (0..=u8::MAX).zip(self.inputs.iter().rev()) {
                if let Some(entry) = expected.get_mut(usize::from(input)) {
                    *entry = i;
                }
            }
            if index != expected {
                return fail("a table that agrees with the inputs", "another");
            }
        }
        Ok(())
    }
}
